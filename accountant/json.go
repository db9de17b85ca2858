package accountant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

const schemaEvents = "pate.events/1"

const maxJSON = 16 << 20

// ErrBadJSON matches the errors for text that is no JSON form of an event or a schedule.
var ErrBadJSON = errors.New("accountant: bad event JSON")

// Schedule is a list of events under one relation. Its JSON form is
//
//	{"schema":"pate.events/1","relation":"add_remove","events":[{"type":"gnmax","sigma":40}]}
//
// The schema is optional when reading. Decoding is strict, and a decoded schedule is valid.
type Schedule struct {
	Relation Relation
	Events   []Event
}

func allEvents() []Event {
	return []Event{Gaussian{}, Laplace{}, DiscreteGaussian{}, DiscreteLaplace{},
		ExponentialMechanism{}, PureDP{}, RandomizedResponse{}, KaryResponse{}, ZCDP{}, GNMax{}, Threshold{}, LNMax{},
		GNSS{}, MStab{}, AboveThreshold{}, StableSVT{}, PoissonSampled{}, SampledWithoutReplacement{},
		TruncatedPoisson{}, RandomAllocation{}, BallsInBins{}, BandedMatrix{}, Selection{}, PoissonSelection{},
		Group{}, Composed{}, Repeated{}, WithFailure{}, NonPrivate{}}
}

func zeroEvent(name string) (Event, bool) {
	events := allEvents()
	i := slices.IndexFunc(events, func(e Event) bool { return typeName(e) == name })
	if i < 0 {
		return nil, false
	}
	return events[i], true
}

// MarshalEvent returns the JSON form of a valid event.
func MarshalEvent(e Event) ([]byte, error) {
	if err := validTree(e, 0); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := writeEvent(&b, e); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeEvent(b *bytes.Buffer, e Event) error {
	fmt.Fprintf(b, `{"type":%q`, typeName(e))
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		key, optional := fieldKey(v.Type().Field(i))
		if optional && v.Field(i).IsZero() {
			continue
		}
		fmt.Fprintf(b, `,%q:`, key)
		switch x := v.Field(i).Interface().(type) {
		case Event:
			if err := writeEvent(b, x); err != nil {
				return err
			}
		case []Event:
			if err := writeEvents(b, x); err != nil {
				return err
			}
		default:
			data, err := json.Marshal(x)
			if err != nil {
				return fmt.Errorf("accountant: %w", err)
			}
			b.Write(data)
		}
	}
	b.WriteByte('}')
	return nil
}

// EventTypes lists the JSON types of events with their fields in parentheses. Optional fields are in square
// brackets.
func EventTypes() []string {
	var types []string
	for _, e := range allEvents() {
		text, fields := typeName(e), reflect.TypeOf(e)
		for i := range fields.NumField() {
			key, optional := fieldKey(fields.Field(i))
			if optional {
				key = "[" + key + "]"
			}
			text += []string{" (", ", "}[min(i, 1)] + key
		}
		if fields.NumField() > 0 {
			text += ")"
		}
		types = append(types, text)
	}
	return types
}

func writeEvents(b *bytes.Buffer, events []Event) error {
	b.WriteByte('[')
	for i, e := range events {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeEvent(b, e); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// UnmarshalEvent reads the JSON form of an event and validates the event.
func UnmarshalEvent(data []byte) (Event, error) {
	if len(data) > maxJSON {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrBadJSON, len(data), maxJSON)
	}
	e, err := readEvent(data, 0)
	if err != nil {
		return nil, err
	}
	if err := validTree(e, 0); err != nil {
		return nil, err
	}
	return e, nil
}

func readEvent(data []byte, depth int) (Event, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested more than %d deep", ErrBadJSON, maxDepth)
	}
	fields, err := readObject(data)
	if err != nil {
		return nil, err
	}
	name, err := fields.text("type")
	if err != nil {
		return nil, err
	}
	zero, ok := zeroEvent(name)
	if !ok {
		return nil, fmt.Errorf("%w: unknown event type %q", ErrBadJSON, name)
	}
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	for i := range v.NumField() {
		key, optional := fieldKey(v.Type().Field(i))
		if _, there := fields.values[key]; optional && !there {
			continue
		}
		if err := fields.takeField(key, v.Field(i), depth); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := fields.done(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v.Interface().(Event), nil
}

func readEvents(data []byte, depth int) ([]Event, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		return nil, fmt.Errorf("%w: events must be a list", ErrBadJSON)
	}
	events := make([]Event, len(raw))
	for i := range raw {
		e, err := readEvent(raw[i], depth)
		if err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
		events[i] = e
	}
	return events, nil
}

// object is a JSON object. Its keys are read one by one, and an unread key is an error.
type object struct {
	keys   []string
	values map[string]json.RawMessage
}

// readObject rejects repeated keys, unlike encoding/json. Keys are case-sensitive.
func readObject(data []byte) (*object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("%w: expected an object", ErrBadJSON)
	}
	o := &object{values: make(map[string]json.RawMessage)}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrBadJSON, err)
		}
		key := tok.(string) // the decoder accepts only strings here
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("%w: field %q is there twice", ErrBadJSON, key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w: field %q: %v", ErrBadJSON, key, err)
		}
		o.keys = append(o.keys, key)
		o.values[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrBadJSON, err)
	}
	if dec.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, fmt.Errorf("%w: text after the object", ErrBadJSON)
	}
	return o, nil
}

func (o *object) pop(key string) (json.RawMessage, error) {
	value, ok := o.values[key]
	if !ok {
		return nil, fmt.Errorf("%w: field %q is missing", ErrBadJSON, key)
	}
	delete(o.values, key)
	return value, nil
}

func (o *object) text(key string) (text string, err error) {
	value, err := o.pop(key)
	if err != nil {
		return "", err
	}
	if len(value) == 0 || value[0] != '"' {
		return "", fmt.Errorf("%w: field %q must be a string", ErrBadJSON, key)
	}
	if err := json.Unmarshal(value, &text); err != nil {
		return "", fmt.Errorf("%w: field %q: %v", ErrBadJSON, key, err)
	}
	return text, nil
}

func (o *object) takeField(key string, v reflect.Value, depth int) error {
	value, err := o.pop(key)
	if err != nil {
		return err
	}
	switch p := v.Addr().Interface().(type) {
	case *float64:
		// value is already valid JSON, so the wider syntax of ParseFloat does no harm.
		*p, err = strconv.ParseFloat(string(value), 64)
		if err != nil {
			return fmt.Errorf("%w: field %q must be a number, got %.40s", ErrBadJSON, key, value)
		}
	case *int64:
		*p, err = strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return fmt.Errorf("%w: field %q must be a whole number, got %.40s", ErrBadJSON, key, value)
		}
	case *bool:
		if err := json.Unmarshal(value, p); err != nil || string(value) == "null" {
			return fmt.Errorf("%w: field %q must be true or false, got %.40s", ErrBadJSON, key, value)
		}
	case *Event:
		*p, err = readEvent(value, depth+1)
		return err
	case *[]Event:
		*p, err = readEvents(value, depth+1)
		return err
	}
	return nil
}

func (o *object) done() error {
	for _, key := range o.keys {
		if _, left := o.values[key]; left {
			return fmt.Errorf("%w: unknown field %q", ErrBadJSON, key)
		}
	}
	return nil
}

func (s Schedule) MarshalJSON() ([]byte, error) {
	relation, err := s.Relation.MarshalText()
	if err != nil {
		return nil, err
	}
	if err := s.valid(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schema":%q,"relation":%q,"events":`, schemaEvents, relation)
	if err := writeEvents(&b, s.Events); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *Schedule) UnmarshalJSON(data []byte) error {
	if len(data) > maxJSON {
		return fmt.Errorf("%w: %d bytes, at most %d are read", ErrBadJSON, len(data), maxJSON)
	}
	o, err := readObject(data)
	if err != nil {
		return err
	}
	if _, ok := o.values["schema"]; ok {
		schema, err := o.text("schema")
		if err != nil {
			return err
		}
		if schema != schemaEvents {
			return fmt.Errorf("%w: schema %q, this version reads %q", ErrBadJSON, schema, schemaEvents)
		}
	}
	var out Schedule
	relation, err := o.text("relation")
	if err != nil {
		return err
	}
	if err := out.Relation.UnmarshalText([]byte(relation)); err != nil {
		return fmt.Errorf("%w: %w", ErrBadJSON, err)
	}
	events, err := o.pop("events")
	if err != nil {
		return err
	}
	if out.Events, err = readEvents(events, 0); err != nil {
		return err
	}
	if err := o.done(); err != nil {
		return err
	}
	if err := out.valid(); err != nil {
		return err
	}
	*s = out
	return nil
}

func (s Schedule) valid() error {
	for i, e := range s.Events {
		if err := validTree(e, 0); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	return nil
}

func ParseSchedule(data []byte) (Schedule, error) {
	var s Schedule
	err := s.UnmarshalJSON(data)
	return s, err
}
