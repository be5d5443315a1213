package replay

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Value is a value of TLA+ in canonical text: fields, members and arguments
// sorted, one space where one belongs. Equal values are equal strings.
type Value string

// Record is a function from names: a TLA+ record, a function from strings, or a
// state, whose fields are its variables.
type Record map[string]Value

// Str returns the text of a string value; "" for any other value.
func (v Value) Str() string {
	s, err := strconv.Unquote(string(v))
	if err != nil {
		return ""
	}
	return s
}

// Int returns the number of an integer value; 0 for any other value.
func (v Value) Int() int {
	n, _ := strconv.Atoi(string(v))
	return n
}

// Bool reports whether the value is TRUE.
func (v Value) Bool() bool { return v == "TRUE" }

// Fields returns the fields of a record or of a function from strings; nil for
// any other value.
func (v Value) Fields() Record {
	p := parser{text: string(v)}
	if !p.take("[") {
		return nil
	}
	fields, err := p.fields()
	if err != nil {
		return nil
	}
	return fields
}

// Elements returns the members of a set, or the elements of a tuple; nil for any
// other value.
func (v Value) Elements() []Value {
	p := parser{text: string(v)}
	closing := "}"
	if !p.take("{") {
		if closing = ">>"; !p.take("<<") {
			return nil
		}
	}
	values, err := p.list(closing)
	if err != nil {
		return nil
	}
	return values
}

// Value returns the record as a value.
func (r Record) Value() Value {
	parts := make([]string, 0, len(r))
	for _, name := range r.names() {
		parts = append(parts, name+" |-> "+string(r[name]))
	}
	return Value("[" + strings.Join(parts, ", ") + "]")
}

func (r Record) names() []string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// without returns the record without some fields.
func (r Record) without(names ...string) Record {
	rest := Record{}
	for name, v := range r {
		if !slices.Contains(names, name) {
			rest[name] = v
		}
	}
	return rest
}

// Tuple is a sequence, or a function from 1 to some n.
type Tuple []any

// Of returns the TLA+ value of a Go value: a bool, a number, a string, a [Tuple],
// another slice as a set, or a map from strings.
func Of(x any) Value {
	switch x := x.(type) {
	case Value:
		return x
	case Tuple:
		var values []Value
		for _, v := range x {
			values = append(values, Of(v))
		}
		return Value("<<" + join(values) + ">>")
	}
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Bool:
		return Value(strings.ToUpper(strconv.FormatBool(v.Bool())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Value(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Value(strconv.FormatUint(v.Uint(), 10))
	case reflect.String:
		return Value(strconv.Quote(v.String()))
	case reflect.Slice:
		var members []Value
		for i := range v.Len() {
			members = append(members, Of(v.Index(i).Interface()))
		}
		return set(members)
	case reflect.Map:
		r := Record{}
		for _, key := range v.MapKeys() {
			r[key.String()] = Of(v.MapIndex(key).Interface())
		}
		return r.Value()
	}
	panic(fmt.Sprintf("replay: no TLA+ value for %T", x))
}

func set(members []Value) Value {
	slices.SortFunc(members, func(a, b Value) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return Value("{" + join(slices.Compact(members)) + "}")
}

func join(values []Value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, string(v))
	}
	return strings.Join(parts, ", ")
}

// ParseValue reads a value as TLC prints it, over several lines if need be.
func ParseValue(text string) (Value, error) {
	p := parser{text: text}
	v, err := p.value()
	if err != nil {
		return "", err
	}
	if rest := p.rest(); rest != "" {
		return "", fmt.Errorf("replay: %q follows the value", rest)
	}
	return v, nil
}

// ParseState reads a state as TLC prints it: /\ variable = value, and so on.
func ParseState(text string) (Record, error) {
	p := parser{text: text}
	state := Record{}
	for p.rest() != "" {
		p.take(`/\`) // absent where there is one variable only
		name := p.word()
		if name == "" || !p.take("=") {
			return nil, fmt.Errorf("replay: no variable at %q", p.rest())
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		state[name] = v
	}
	if len(state) == 0 {
		return nil, fmt.Errorf("replay: a state without variables")
	}
	return state, nil
}

// parser reads TLC's values from left to right.
type parser struct {
	text string
	at   int
}

// rest returns what is left after white space.
func (p *parser) rest() string {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[p.at:]
}

// take skips the token if it comes next.
func (p *parser) take(token string) bool {
	if !strings.HasPrefix(p.rest(), token) {
		return false
	}
	p.at += len(token)
	return true
}

// word skips and returns letters, digits and underscores.
func (p *parser) word() string {
	rest := p.rest()
	n := 0
	for n < len(rest) && (rest[n] == '_' || '0' <= rest[n] && rest[n] <= '9' || 'a' <= rest[n]|0x20 && rest[n]|0x20 <= 'z') {
		n++
	}
	p.at += n
	return rest[:n]
}

func (p *parser) value() (Value, error) {
	switch {
	case p.take("{"):
		members, err := p.list("}")
		return set(members), err
	case p.take("<<"):
		members, err := p.list(">>")
		return Value("<<" + join(members) + ">>"), err
	case p.take("["):
		fields, err := p.fields()
		return fields.Value(), err
	case p.take("("):
		return p.function()
	case strings.HasPrefix(p.rest(), `"`):
		quoted, err := strconv.QuotedPrefix(p.rest())
		if err != nil {
			return "", fmt.Errorf("replay: a string does not end: %q", p.rest())
		}
		p.at += len(quoted)
		return Value(quoted), nil
	}
	sign := ""
	if p.take("-") {
		sign = "-"
	}
	w := p.word()
	if w == "" {
		return "", fmt.Errorf("replay: no value at %q", p.rest())
	}
	if p.take("..") {
		return p.interval(sign + w)
	}
	return Value(sign + w), nil
}

// interval reads the end of a..b, as TLC prints some sets of numbers.
func (p *parser) interval(from string) (Value, error) {
	to, err := p.value()
	if err != nil {
		return "", err
	}
	var members []Value
	for n := Value(from).Int(); n <= to.Int(); n++ {
		members = append(members, Of(n))
	}
	return set(members), nil
}

// list reads values between commas up to the closing token.
func (p *parser) list(closing string) (values []Value, err error) {
	if p.take(closing) {
		return nil, nil
	}
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		if p.take(closing) {
			return values, nil
		}
		if !p.take(",") {
			return nil, fmt.Errorf("replay: %s is missing at %q", closing, p.rest())
		}
	}
}

// fields reads what follows the bracket of a record.
func (p *parser) fields() (Record, error) {
	r := Record{}
	if p.take("]") {
		return r, nil
	}
	for {
		name := p.word()
		if name == "" || !p.take("|->") {
			return nil, fmt.Errorf("replay: no field at %q", p.rest())
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		r[name] = v
		if p.take("]") {
			return r, nil
		}
		if !p.take(",") {
			return nil, fmt.Errorf("replay: ] is missing at %q", p.rest())
		}
	}
}

// function reads (a :> x @@ b :> y), a function that is neither a record nor a
// sequence.
func (p *parser) function() (Value, error) {
	var pairs []string
	for {
		key, err := p.value()
		if err != nil {
			return "", err
		}
		if !p.take(":>") {
			return "", fmt.Errorf("replay: :> is missing at %q", p.rest())
		}
		v, err := p.value()
		if err != nil {
			return "", err
		}
		pairs = append(pairs, string(key)+" :> "+string(v))
		if p.take(")") {
			slices.Sort(pairs)
			return Value("(" + strings.Join(pairs, " @@ ") + ")"), nil
		}
		if !p.take("@@") {
			return "", fmt.Errorf("replay: @@ is missing at %q", p.rest())
		}
	}
}
