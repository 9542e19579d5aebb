package shipping

import "fmt"

// Return is a parcel that comes back.
type Return struct {
	TrackingCode string
	Parcel       Parcel
	Reason       string
}

// Depot takes parcels back and remembers them.
type Depot struct {
	City    string
	returns map[string]Return
}

// NewDepot returns an empty depot.
func NewDepot(city string) *Depot {
	return &Depot{City: city, returns: map[string]Return{}}
}

// TakeBack stores the parcel of a label.
func (d *Depot) TakeBack(label Label, reason string) Return {
	returned := Return{TrackingCode: label.TrackingCode, Parcel: label.Parcel, Reason: reason}
	d.returns[returned.TrackingCode] = returned
	return returned
}

// Find returns the returned parcel with a tracking code.
func (d *Depot) Find(trackingCode string) (Return, error) {
	returned, ok := d.returns[trackingCode]
	if !ok {
		return Return{}, fmt.Errorf("no return %s", trackingCode)
	}
	return returned, nil
}
