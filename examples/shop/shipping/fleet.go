package shipping

// Driver brings parcels to their recipients.
type Driver struct {
	LicenceNumber string
	Name          string
}

// Fleet remembers the drivers of a depot.
type Fleet struct {
	City    string
	drivers map[string]Driver
}

// Find returns the driver with a licence number.
func (f *Fleet) Find(licenceNumber string) (Driver, error) {
	driver, ok
