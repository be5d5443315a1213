package policy

// replicas sets how many points each member gets: its weight in units of the
// greatest common divisor of all, times perUnit. It fails at the first member with
// which they are more than most.
func replicas(members []ringMember, perUnit, most uint32) (failed int, ok bool) {
	unit := uint64(0)
	for k := range members {
		unit = gcd(unit, uint64(members[k].weight.Value()))
	}
	total := uint64(0)
	for k := range members {
		points := uint64(members[k].weight.Value()) / unit * uint64(perUnit)
		if total += points; total > uint64(most) {
			return k, false
		}
		members[k].points = uint32(points)
	}
	return 0, true
}
