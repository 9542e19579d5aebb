package shipping

// Address is where a parcel goes.
type Address struct {
	Street     string
	City       string
	PostalCode string
	Country    string
}

// Parcel is one packed order.
type Parcel struct {
	OrderID     int
	WeightGrams int
	Recipient   string
	Destination Address
}

// IsHeavy reports whether a parcel needs two people.
func (p Parcel) IsHeavy() bool {
	return p.WeightGrams > 20000
}

// IsAbroad reports whether a parcel crosses a border.
func (p Parcel) IsAbroad(homeCountry string) bool {
	return p.Destination.Country != homeCountry
}
