package discovery

// Delta is what is different between two snapshots of one directory. Each list is
// in the order of joining.
type Delta[V any] struct {
	// Joined are the members that only the newer one has.
	Joined []Member[V]
	// Left are the members that only the older one has, as they were there.
	Left []Member[V]
	// Changed are the members whose values differ.
	Changed []Changed[V]
	// DrainStarted are the members that both have and that drain in the newer one
	// alone.
	DrainStarted []Member[V]
	// Revived are the members that both have and that drain in the older one alone.
	Revived []Member[V]
}

// Changed is a member whose value differs between two snapshots.
type Changed[V any] struct {
	// Before and After are the member in the older and in the newer one.
	Before, After Member[V]
}

// Empty reports whether there is no difference.
func (d Delta[V]) Empty() bool {
	return len(d.Joined)+len(d.Left)+len(d.Changed)+len(d.DrainStarted)+len(d.Revived) == 0
}

// Delta returns what has become different since the older snapshot; nil stands
// for an empty one. It refuses one that is newer or of another directory with a
// [poise.FieldError].
//
// An identity whose incarnation is another one has left and joined.
func (s *Snapshot[V]) Delta(older *Snapshot[V]) (Delta[V], error) {
	var d Delta[V]
	var before memberReader[V]
	if older != nil {
		switch {
		case older.rules != s.rules:
			return d, refuse("older", older.revision, ErrForeign)
		case older.revision > s.revision:
			return d, refuse("older", older.revision, ErrNotOlder)
		}
		before.pages = older.members.pages
	}
	// Who joined later stands further on. So up to the last member of the older
	// one, the newer one has only members that the older one has too.
	after := memberReader[V]{pages: s.members.pages}
	for {
		skipShared(&before, &after)
		a, b := before.now(), after.now()
		switch {
		case a == nil && b == nil:
			return d, nil
		case a == nil:
			d.Joined = append(d.Joined, *b)
			after.advance()
			continue
		case b == nil || a.Incarnation != b.Incarnation:
			d.Left = append(d.Left, *a)
			before.advance()
			continue
		case a != b:
			d.compare(s.rules, a, b)
		}
		before.advance()
		after.advance()
	}
}

// compare notes what is different in one incarnation.
func (d *Delta[V]) compare(r *rules[V], a, b *Member[V]) {
	if !r.equal(a.Value, b.Value) {
		d.Changed = append(d.Changed, Changed[V]{*a, *b})
	}
	switch {
	case b.Draining && !a.Draining:
		d.DrainStarted = append(d.DrainStarted, *b)
	case a.Draining && !b.Draining:
		d.Revived = append(d.Revived, *b)
	}
}
