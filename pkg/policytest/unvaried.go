package policytest

import poise "github.com/copyleftdev/poise-go/pkg"

// branch is one of the ways a Sample can be, of which a policy may make a case of its
// own.
type branch struct {
	name  string
	taken func(*poise.Sample) bool
}

// branches lists them field by field.
var branches = []branch{
	{"an identity that is not ASCII", func(s *poise.Sample) bool {
		for i := range len(s.ID) {
			if s.ID[i] >= 0x80 {
				return true
			}
		}
		return false
	}},
	{"incarnation 0", func(s *poise.Sample) bool { return s.Incarnation == 0 }},
	{"an incarnation above 0", func(s *poise.Sample) bool { return s.Incarnation > 0 }},
	{"weight 1", func(s *poise.Sample) bool { return s.Weight.Value() == 1 }},
	{"a weight above 1", func(s *poise.Sample) bool { return s.Weight.Value() > 1 }},
	{"a weight above 65,535", func(s *poise.Sample) bool { return s.Weight.Value() > 1<<16-1 }},
	{"priority 0", func(s *poise.Sample) bool { return s.Priority == 0 }},
	{"a priority above 0", func(s *poise.Sample) bool { return s.Priority > 0 }},
	{"a priority above 1,000", func(s *poise.Sample) bool { return s.Priority > 1000 }},
	{"no locality", func(s *poise.Sample) bool { return s.Locality == "" }},
	{"a locality", func(s *poise.Sample) bool { return s.Locality != "" }},
	{"locality weight 1", func(s *poise.Sample) bool { return s.LocalityWeight.Value() == 1 }},
	{"a locality weight above 1", func(s *poise.Sample) bool { return s.LocalityWeight.Value() > 1 }},
	{"a part in panics while not eligible", func(s *poise.Sample) bool { return !s.PanicOptOut && s.Status != poise.Ready }},
	{"opted out of panics", func(s *poise.Sample) bool { return s.PanicOptOut }},
	{"no load tracker", func(s *poise.Sample) bool { return s.Load == nil }},
	{"an InFlight", func(s *poise.Sample) bool { _, is := s.Load.(*poise.InFlight); return is }},
	{"a PeakEWMA", func(s *poise.Sample) bool { _, is := s.Load.(*poise.PeakEWMA); return is }},
	{"a load tracker of another kind", func(s *poise.Sample) bool {
		switch s.Load.(type) {
		case nil, *poise.InFlight, *poise.PeakEWMA:
			return false
		}
		return true
	}},
	{"a load in nanoseconds", func(s *poise.Sample) bool { return s.Load != nil && s.Load.Unit() == poise.CostNanoseconds }},
}

// Unvaried names the branches of a Sample that no candidate of the suite takes, so
// that no law can tell what the policy does there: statuses and reasons, and the cases
// of the other fields. A policy that makes one of them a case of its own needs Samples
// with it. The localities and identities that candidates do not have are as many as
// there are names; see Localities and Identities.
func (s Suite) Unvaried() []string {
	s = s.withDefaults()
	var samples []poise.Sample
	for _, w := range s.lab().worlds() {
		samples = append(samples, w.samples...)
	}
	some := func(taken func(*poise.Sample) bool) bool {
		for i := range samples {
			if taken(&samples[i]) {
				return true
			}
		}
		return false
	}
	var names []string
	for status := poise.Ready; status <= poise.Unavailable; status++ {
		if !some(func(s *poise.Sample) bool { return s.Status == status }) {
			names = append(names, "status "+status.String())
		}
	}
	for reason := poise.NotExcluded; reason <= poise.ExcludedOutOfScope; reason++ {
		if !some(func(s *poise.Sample) bool { return s.Excluded == reason }) {
			names = append(names, "excluded: "+reason.String())
		}
	}
	for _, b := range branches {
		if !some(b.taken) {
			names = append(names, b.name)
		}
	}
	return names
}
