package seq

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// jsonOp is an Op in JSON, where arguments and results bear their type:
//
//	{"task":0,"name":"Acquire","arg":{"int":3},"result":{"bool":true},"call":4,"return":5}
type jsonOp struct {
	Task   int       `json:"task"`
	Name   string    `json:"name"`
	Arg    jsonValue `json:"arg,omitzero"`
	Result jsonValue `json:"result,omitzero"`
	Call   int64     `json:"call"`
	Return int64     `json:"return"`
}

// jsonValue has at most one field set.
type jsonValue struct {
	Int       *int       `json:"int,omitempty"`
	Bits      *uint64    `json:"bits,omitempty"`
	Bool      *bool      `json:"bool,omitempty"`
	Admission *Admission `json:"admission,omitempty"`
	Verdict   *Verdict   `json:"verdict,omitempty"`
	Applied   *Applied   `json:"applied,omitempty"`
	Stamped   *Stamped   `json:"stamped,omitempty"`
	Sample    *Sample    `json:"sample,omitempty"`
}

// MarshalJSON writes the call. It fails for values of types that no
// specification of this package uses.
func (o Op) MarshalJSON() ([]byte, error) {
	arg, err := wrap(o.Arg)
	if err != nil {
		return nil, err
	}
	result, err := wrap(o.Result)
	if err != nil {
		return nil, err
	}
	return json.Marshal(jsonOp{o.Task, o.Name, arg, result, o.Call, o.Return})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Op) UnmarshalJSON(b []byte) error {
	var j jsonOp
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*o = Op{j.Task, j.Name, j.Arg.value(), j.Result.value(), j.Call, j.Return}
	return nil
}

func wrap(value any) (v jsonValue, err error) {
	switch value := value.(type) {
	case nil:
	case int:
		v.Int = &value
	case uint64:
		v.Bits = &value
	case bool:
		v.Bool = &value
	case Admission:
		v.Admission = &value
	case Verdict:
		v.Verdict = &value
	case Applied:
		v.Applied = &value
	case Stamped:
		v.Stamped = &value
	case Sample:
		v.Sample = &value
	default:
		err = fmt.Errorf("seq: no JSON form for %T", value)
	}
	return v, err
}

func (v jsonValue) value() any {
	switch {
	case v.Int != nil:
		return *v.Int
	case v.Bits != nil:
		return *v.Bits
	case v.Bool != nil:
		return *v.Bool
	case v.Admission != nil:
		return *v.Admission
	case v.Verdict != nil:
		return *v.Verdict
	case v.Applied != nil:
		return *v.Applied
	case v.Stamped != nil:
		return *v.Stamped
	case v.Sample != nil:
		return *v.Sample
	default:
		return nil
	}
}

// UnmarshalJSON refuses a type that it does not know, rather than read nothing.
func (v *jsonValue) UnmarshalJSON(b []byte) error {
	type plain jsonValue // without this method
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(v))
}
