package poise

import "slices"

// pageLen is how many samples share a page. Changing one sample copies one page, 5
// KB, and the list of the pages, 24 bytes each.
const pageLen = 64

// samplePages is a list of samples, in pages that Views share. All but the last are
// full. The zero value is empty.
type samplePages [][]Sample

// newSamplePages returns n zero samples.
func newSamplePages(n int) samplePages {
	pages := make(samplePages, 0, (n+pageLen-1)/pageLen)
	for ; n > 0; n -= pageLen {
		pages = append(pages, make([]Sample, min(n, pageLen)))
	}
	return pages
}

// at returns the sample at an index, which is in range.
func (p samplePages) at(i int) *Sample { return &p[uint(i)/pageLen][uint(i)%pageLen] }

// samplesEdit makes samplePages out of others, which it leaves as they are.
type samplesEdit struct {
	from  samplePages
	pages samplePages // nil until something is set
}

// set sets the sample at an index, or appends it at the one after the last.
func (e *samplesEdit) set(i int, s *Sample) {
	if e.pages == nil {
		e.pages = append(make(samplePages, 0, len(e.from)+1), e.from...)
	}
	page, at := i/pageLen, i%pageLen
	switch {
	case page == len(e.pages):
		e.pages = append(e.pages, nil)
	case page < len(e.from) && &e.pages[page][0] == &e.from[page][0]:
		e.pages[page] = slices.Clone(e.from[page])
	}
	if at == len(e.pages[page]) {
		e.pages[page] = append(e.pages[page], Sample{})
	}
	e.pages[page][at] = *s
}

// done returns the samples.
func (e *samplesEdit) done() samplePages {
	if e.pages == nil {
		return e.from
	}
	return e.pages
}
