package observe

// Fanout tells several Observers, one after the other.
//
// The zero value tells nobody.
//
// # Contract
//
//   - A Fanout tells its Observers in their order.
//   - A panic of an Observer of a Fanout keeps none of the others from being told.
//
// # Cost
//
// What its Observers cost together, and no allocation.
//
// # Concurrency
//
// A Fanout is used as its Observers are, and must not change meanwhile.
type Fanout []Observer

var _ Observer = Fanout(nil)

// Refused tells of a call for which nobody was found.
func (f Fanout) Refused(r Refusal) { f.each(func(o Observer) { o.Refused(r) }) }

// Ended tells of an attempt that has ended.
func (f Fanout) Ended(e Ended) { f.each(func(o Observer) { o.Ended(e) }) }

// Published tells of a publication.
func (f Fanout) Published(p Published) { f.each(func(o Observer) { o.Published(p) }) }

func (f Fanout) each(tell func(Observer)) {
	for _, o := range f {
		quietly(tell, o)
	}
}

// quietly drops a panic, as a loop does that tells one Observer; that of a nil one, too.
func quietly(tell func(Observer), o Observer) {
	defer func() { _ = recover() }()
	tell(o)
}
