package shipping

import "fmt"

// Zone groups countries with one price.
type Zone int

const (
	ZoneDomestic Zone = iota
	ZoneEurope
	ZoneWorld
)

// RateTable holds the price in cents of a kilogram in each zone.
type RateTable struct {
	HomeCountry string
	PerKilogram map[Zone]int
	Surcharge   int
}

// ZoneOf returns the zone of a country.
func (t *RateTable) ZoneOf(country string) Zone {
	if country == t.HomeCountry {
		return ZoneDomestic
	}
	if isEuropean(country) {
		return ZoneEurope
	}
	return ZoneWorld
}

// PriceCents returns what shipping a parcel costs.
func (t *RateTable) PriceCents(parcel Parcel) (int, error) {
	perKilogram, ok := t.PerKilogram[t.ZoneOf(parcel.Destination.Country)]
	if !ok {
		return 0, fmt.Errorf("no rate for %s", parcel.Destination.Country)
	}
	price := perKilogram * kilograms(parcel.WeightGrams)
	if parcel.IsHeavy() {
		price += t.Surcharge
	}
	return price, nil
}

func kilograms(grams int) int {
	return (grams + 999) / 1000
}

func isEuropean(country string) bool {
	switch country {
	case "DE", "FR", "PL", "SE", "DK", "NL":
		return true
	}
	return false
}
