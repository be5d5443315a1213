package dispatch

import (
	poise "github.com/copyleftdev/poise-go/pkg"
	"github.com/copyleftdev/poise-go/pkg/health"
)

// Inspection is a Loop as it stands at one instant: for people, and for proofs that
// compare it with a model. What is read while calls go on is read member by member.
type Inspection struct {
	_ struct{}
	// Closed says that the Loop was closed.
	Closed bool
	// Published is the number of the last publication, from 1; 0 before the first.
	Published uint64
	// Pending says that a change waits to be published, and Err is why the last
	// publication failed.
	Pending bool
	Err     error
	// Waiting is how many calls wait.
	Waiting int
	// Retries is what the retry budget has saved, in hundredths of a retry.
	Retries uint64
	// Members are the members in the order of the list.
	Members []MemberInspection
}

// MemberInspection is one member as it stands.
type MemberInspection struct {
	_ struct{}
	// ID, Incarnation and Value name it.
	ID          string
	Incarnation uint64
	Value       any
	// Sample is what transforms are shown of it now, and Reason why the published
	// View leaves it out; ExcludedOutOfScope if it is not in that View.
	Sample poise.Sample
	Reason poise.Reason
	// LeftOut is why it is left out although nobody wanted that; nil if it is not.
	LeftOut error
	// Status is what SetStatus says; Ready if it says nothing.
	Status poise.Status
	// Offline is what SetConnected says, and Unhealthy what Report says.
	Offline   bool
	Unhealthy poise.Reason
	// Admission is whether it admits calls.
	Admission Admission
	// InFlight is how many calls it holds, and Limit how many it may; 0 is no limit.
	InFlight, Limit uint64
	// Passive is what its calls say of it.
	Passive health.PassiveInspection
	// Outcomes are what its window holds, if it has one.
	Outcomes health.OutcomeStats
}
