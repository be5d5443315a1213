package health

import (
	"cmp"
	"time"
)

// memberHeap is a heap of members by their keys, and of equal keys by identity.
type memberHeap struct{ members []*scheduledMember }

func (h *memberHeap) first() *scheduledMember {
	if len(h.members) == 0 {
		return nil
	}
	return h.members[0]
}

func (h *memberHeap) push(m *scheduledMember, key time.Duration) {
	m.key, m.in, m.index = key, h, len(h.members)
	h.members = append(h.members, m)
	h.up(m.index)
}

func (h *memberHeap) remove(m *scheduledMember) {
	i, last := m.index, len(h.members)-1
	h.swap(i, last)
	h.members[last] = nil
	h.members = h.members[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
	m.in = nil
}

func (h *memberHeap) less(i, j int) bool {
	a, b := h.members[i], h.members[j]
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) < 0
}

func (h *memberHeap) swap(i, j int) {
	h.members[i], h.members[j] = h.members[j], h.members[i]
	h.members[i].index, h.members[j].index = i, j
}

func (h *memberHeap) up(i int) {
	for i > 0 && h.less(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *memberHeap) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.members); child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
