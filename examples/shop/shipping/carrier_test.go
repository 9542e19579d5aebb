package shipping

import "testing"

func newRates() *RateTable {
	return &RateTable{HomeCountry: "DE", PerKilogram: map[Zone]int{ZoneDomestic: 300, ZoneEurope: 700}, Surcharge: 1500}
}

func TestHandOverPricesParcel(t *testing.T) {
	carrier := NewCarrier("north", newRates())
	label, err := carrier.HandOver(Parcel{OrderID: 7, WeightGrams: 2400, Destination: Address{Country: "DE"}})
	if err != nil {
		t.Fatal(err)
	}
	if label.PriceCents != 900 {
		t.Errorf("price is %d", label.PriceCents)
	}
}

func TestHandOverWithoutRate(t *testing.T) {
	carrier := NewCarrier("north", newRates())
	_, err := carrier.HandOver(Parcel{OrderID: 8, Destination: Address{Country: "US"}})
	if err == nil {
		t.Error("expected an error")
	}
}
