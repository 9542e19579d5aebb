package shipping

import "fmt"

// Label is printed and stuck on a parcel.
type Label struct {
	TrackingCode string
	Parcel       Parcel
	PriceCents   int
}

// Carrier hands parcels over and remembers them.
type Carrier struct {
	Name   string
	Rates  *RateTable
	labels map[string]Label
}

// NewCarrier returns a carrier without parcels.
func NewCarrier(name string, rates *RateTable) *Carrier {
	return &Carrier{Name: name, Rates: rates, labels: map[string]Label{}}
}

// HandOver prices a parcel and prints its label.
func (c *Carrier) HandOver(parcel Parcel) (Label, error) {
	price, err := c.Rates.PriceCents(parcel)
	if err != nil {
		return Label{}, err
	}
	label := Label{TrackingCode: c.trackingCode(parcel), Parcel: parcel, PriceCents: price}
	c.labels[label.TrackingCode] = label
	return label, nil
}

// Find returns the label with a tracking code.
func (c *Carrier) Find(trackingCode string) (Label, error) {
	label, ok := c.labels[trackingCode]
	if !ok {
		return Label{}, fmt.Errorf("no label %s", trackingCode)
	}
	return label, nil
}

func (c *Carrier) trackingCode(parcel Parcel) string {
	return fmt.Sprintf("%s-%06d", c.Name, parcel.OrderID)
}
