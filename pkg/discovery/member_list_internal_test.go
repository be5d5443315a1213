package discovery

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMemberList_LawOfItsPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r memberList[int]
		var list []*Member[int]
		incarnation := uint64(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			var left, joined []*Member[int]
			if len(list) > 0 {
				from := rapid.IntRange(0, len(list)-1).Draw(t, "from")
				left = slices.Clone(list[from:min(from+rapid.IntRange(0, 300).Draw(t, "leave"), len(list))])
				list = slices.Delete(slices.Clone(list), from, from+len(left))
			}
			for range rapid.IntRange(0, 300).Draw(t, "join") {
				incarnation++
				joined = append(joined, &Member[int]{Incarnation: incarnation})
			}
			list = append(list, joined...)
			r = r.edited(nil, left, joined)
			at, last := 0, pageLen
			for i, p := range r.pages {
				n := len(p.members)
				if n == 0 || n > pageLen || i > 0 && n+last <= pageLen || p.start != at {
					t.Fatalf("page %d has %d members from %d, the one before %d", i, n, p.start, last)
				}
				at, last = at+n, n
			}
			if r.len != len(list) {
				t.Fatalf("%d members, want %d", r.len, len(list))
			}
			for i, m := range r.all {
				if m != list[i] || r.at(i) != m {
					t.Fatalf("member %d is %v, want %v", i, m, list[i])
				}
			}
		}
	})
}
