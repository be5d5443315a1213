// Explorable.

package health

// ejectedList is the ejected endpoints, least recently tried first. A ring through
// its sentinel.
type ejectedList struct{ sentinel ejectedLink }

// ejectedLink is the place of one endpoint in an ejectedList; next is nil while it
// is in none.
type ejectedLink struct {
	next, previous *ejectedLink
	endpoint       *PassiveEndpoint
}

// pushBack puts the endpoint last, or moves it there.
func (l *ejectedList) pushBack(e *PassiveEndpoint) {
	if l.sentinel.next == nil {
		l.sentinel.next, l.sentinel.previous = &l.sentinel, &l.sentinel
	}
	l.remove(e)
	link := &e.link
	link.endpoint = e
	link.previous, link.next = l.sentinel.previous, &l.sentinel
	link.previous.next, link.next.previous = link, link
}

// remove takes the endpoint out, if it is in.
func (l *ejectedList) remove(e *PassiveEndpoint) {
	link := &e.link
	if link.next == nil {
		return
	}
	link.previous.next, link.next.previous = link.next, link.previous
	link.next, link.previous = nil, nil
}

// all calls yield with each endpoint, first to last, until it returns false.
func (l *ejectedList) all(yield func(*PassiveEndpoint) bool) {
	for link := l.sentinel.next; link != nil && link != &l.sentinel; link = link.next {
		if !yield(link.endpoint) {
			return
		}
	}
}
