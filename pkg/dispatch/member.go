package dispatch

import poise "github.com/copyleftdev/poise-go/pkg"

// Member is one member of a Balancer as its list has it. A member that stays in the
// list keeps its calls and its health, unless its Endpoint is another one, which
// begins a new incarnation.
type Member[E comparable] struct {
	_ struct{}
	// ID is the identity: not empty, and unique.
	ID string
	// Endpoint is whom calls are given. One that was removed must not come back before
	// it was closed.
	Endpoint E
	// Weight is the share against the others; zero value 1.
	Weight poise.Weight
	// Status is what the list says; zero value Ready.
	Status poise.Status
	// Excluded leaves the member out for a reason of the user's own; zero value
	// NotExcluded.
	Excluded poise.Reason
	// Priority and Locality place the member in a topology.
	Priority       uint32
	Locality       string
	LocalityWeight poise.Weight
	// PanicOptOut withholds the member from panic routing while it is not eligible.
	PanicOptOut bool
	// Limit is how many calls it may hold at once; 0 is no limit.
	Limit uint64
}

// spec returns the member as the loop has it.
func (m *Member[E]) spec(incarnation uint64) Spec {
	return Spec{Sample: poise.Sample{
		ID: m.ID, Incarnation: incarnation, Weight: m.Weight, Status: m.Status, Excluded: m.Excluded,
		Priority: m.Priority, Locality: m.Locality, LocalityWeight: m.LocalityWeight, PanicOptOut: m.PanicOptOut,
	}, Limit: m.Limit, Value: m.Endpoint}
}
