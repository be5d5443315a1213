package drift

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// document is a markdown file taken apart: what is prose, what is code. Only as
// much of markdown is understood as the documents of this repository use.
type document struct {
	path     string
	prose    []docLine // code spans blanked, fenced code left out
	spans    []docLine // the text inside backticks
	fenced   []docLine // lines of fenced code
	torn     []docLine // backticks that nothing closes
	headings []heading
	anchors  map[string]bool // fragments that a link may name
}

type heading struct {
	level int
	text  string
	line  int
}

var (
	atxHeading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)
	blockStart = regexp.MustCompile(`^\s*(?:[-*+]\s|\d+[.)]\s|\||>|<!--)`)
	fence      = regexp.MustCompile("^\\s*(```+|~~~+)")
	htmlAnchor = regexp.MustCompile(`<[a-z0-9]+ [^>]*(?:id|name)="([^"]+)"`)
	inlineLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// documents returns every markdown file of the tree.
func (r *Repo) documents() []document {
	var found []document
	for _, name := range r.withExt(".md") {
		found = append(found, parseDocument(name, r.text(name)))
	}
	return found
}

func parseDocument(name, text string) document {
	doc := document{path: name, anchors: map[string]bool{}}
	var paragraph []docLine
	closing := ""
	for _, line := range numbered(text) {
		mark := fence.FindStringSubmatch(line.text)
		switch {
		case closing == "" && mark != nil:
			doc.addParagraph(paragraph)
			paragraph, closing = nil, mark[1]
		case closing != "" && mark != nil && strings.HasPrefix(mark[1], closing):
			closing = ""
		case closing != "":
			doc.fenced = append(doc.fenced, line)
		case strings.TrimSpace(line.text) == "":
			doc.addParagraph(paragraph)
			paragraph = nil
		default:
			// A code span ends with its block at the latest.
			parts := atxHeading.FindStringSubmatch(line.text)
			if parts != nil || blockStart.MatchString(line.text) {
				doc.addParagraph(paragraph)
				paragraph = nil
			}
			paragraph = append(paragraph, line)
			if parts != nil {
				doc.addHeading(len(parts[1]), parts[2], line.line)
				doc.addParagraph(paragraph)
				paragraph = nil
			}
		}
	}
	doc.addParagraph(paragraph)
	for _, line := range doc.prose {
		for _, anchor := range htmlAnchor.FindAllStringSubmatch(line.text, -1) {
			doc.anchors[anchor[1]] = true
		}
	}
	return doc
}

// addParagraph separates code spans from prose. A span may run over a line break,
// so the paragraph is read as one text.
func (d *document) addParagraph(lines []docLine) {
	if len(lines) == 0 {
		return
	}
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = line.text
	}
	text := strings.Join(texts, "\n")
	prose := []byte(text)
	for at := 0; at < len(text); {
		if text[at] != '`' {
			at++
			continue
		}
		ticks := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		end := closingTicks(text, at+ticks, ticks)
		line := lines[strings.Count(text[:at], "\n")].line
		if end < 0 {
			d.torn = append(d.torn, docLine{oneLine(text[at:]), line})
			at += ticks
			continue
		}
		span := text[at+ticks : end]
		d.spans = append(d.spans, docLine{oneLine(span), line})
		for i := at; i < end+ticks; i++ {
			if prose[i] != '\n' {
				prose[i] = ' '
			}
		}
		at = end + ticks
	}
	for i, line := range strings.Split(string(prose), "\n") {
		d.prose = append(d.prose, docLine{line, lines[i].line})
	}
}

// closingTicks returns where a run of exactly that many backticks begins.
func closingTicks(text string, from, ticks int) int {
	for at := from; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			return -1
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if run == ticks {
			return at
		}
		at += run
	}
	return -1
}

func (d *document) addHeading(level int, text string, line int) {
	d.headings = append(d.headings, heading{level, text, line})
	base := slug(text)
	anchor := base
	for n := 1; d.anchors[anchor]; n++ {
		anchor = base + "-" + strconv.Itoa(n)
	}
	d.anchors[anchor] = true
}

// slug is the fragment under which a heading is found on the usual hosts of
// repositories.
func slug(text string) string {
	text = inlineLink.ReplaceAllString(text, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}
