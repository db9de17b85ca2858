package ledger

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/buildinfo"
)

const schema = "pate.ledger/2"

type header struct {
	Unit     string              `json:"unit"`
	Relation accountant.Relation `json:"relation"`
	Epsilon  float64             `json:"epsilon"`
	Delta    float64             `json:"delta"`
	Mode     Mode                `json:"mode"`
	// Accountant, Conversion and Orders determine the epsilon of every line. If Default is true, a ledger of
	// mode Reserved also tries orders between the listed Orders.
	Accountant   accountant.Method     `json:"accountant"`
	Conversion   accountant.Conversion `json:"conversion"`
	Orders       []order               `json:"orders"`
	Default      bool                  `json:"default_orders"` // Config.Orders was empty
	FailureDelta float64               `json:"failure_delta"`
	Run          string                `json:"run"`
	Data         string                `json:"data"`
	Noise        Noise                 `json:"noise"`
	Waived       []string              `json:"waived,omitempty"`
	Library      string                `json:"library"`
	ID           string                `json:"id,omitempty"` // random, different for every file
}

func newID() string {
	id := make([]byte, idBytes)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

const idBytes = 16

func checkID(id string) error {
	if b, err := hex.DecodeString(id); err != nil || len(b) != idBytes || hex.EncodeToString(b) != id {
		return fmt.Errorf("the id is not %d hexadecimal digits", 2*idBytes)
	}
	return nil
}

type order float64

func (o order) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(o), 1) {
		return []byte(`"inf"`), nil
	}
	return json.Marshal(float64(o))
}

func (o *order) UnmarshalJSON(text []byte) error {
	if string(text) == `"inf"` {
		*o = order(math.Inf(1))
		return nil
	}
	return json.Unmarshal(text, (*float64)(o))
}

func newHeader(c Config) (header, error) {
	h := header{
		Unit: c.Unit, Relation: c.Relation, Epsilon: c.Epsilon, Delta: c.Delta, Mode: c.Mode,
		Accountant: c.Method(), Default: len(c.Orders) == 0, FailureDelta: c.FailureDelta,
		Run: c.Run, Data: c.Data, Noise: c.Noise, Waived: c.Waived,
		Library: buildinfo.Module + " " + buildinfo.Read().String(),
	}
	orders := c.Orders
	if h.Default {
		var err error
		if orders, err = defaultOrders(c); err != nil {
			return h, err
		}
	}
	for _, a := range orders {
		h.Orders = append(h.Orders, order(a))
	}
	return h, nil
}

func (h header) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	return text, wrapped(err)
}

func (h header) config() Config {
	c := Config{
		Unit: h.Unit, Relation: h.Relation, Epsilon: h.Epsilon, Delta: h.Delta, Mode: h.Mode,
		FailureDelta: h.FailureDelta, Run: h.Run, Data: h.Data, Noise: h.Noise, Waived: h.Waived,
	}
	if h.Accountant != accountant.ByRDP {
		c.Accountant = h.Accountant
	}
	if !h.Default {
		c.Orders = h.orders()
	}
	return c
}

func (h header) orders() []float64 {
	orders := make([]float64, len(h.Orders))
	for i, a := range h.Orders {
		orders[i] = float64(a)
	}
	return orders
}

func defaultOrders(c Config) ([]float64, error) {
	if c.Mode == Reserved {
		return accountant.DefaultOrders(), nil
	}
	// Use the order at which the budget admits the largest rho. It is best for Gaussian noise.
	best, most := 0.0, 0.0
	for _, a := range accountant.DefaultOrders() {
		if math.IsInf(a, 1) {
			continue
		}
		p, err := penalty(a, c.Delta-c.FailureDelta)
		if err != nil {
			return nil, err
		}
		if rho := (c.Epsilon - p) / a; rho > most {
			best, most = a, rho
		}
	}
	if best == 0 {
		return nil, errors.New("ledger: no event fits Epsilon and Delta at a finite order: for pure events set Config.Orders to +Inf")
	}
	return []float64{best}, nil
}

func parseHeader(text []byte) (header, error) {
	var h header
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&h); err != nil {
		return h, err
	}
	// The decoder accepts repeated fields and other letter case. The comparison below rejects them.
	if again, err := h.encode(); err != nil || !bytes.Equal(again, text) {
		return h, errors.New("the header is not written as this program writes it")
	}
	if h.ID != "" {
		if err := checkID(h.ID); err != nil {
			return h, err
		}
	}
	_, err := accountant.ParseMethod(string(h.Accountant))
	if err != nil || h.Mode == Filter && h.Accountant != accountant.ByRDP {
		return h, fmt.Errorf("this version has no accountant %q for mode %v", h.Accountant, h.Mode)
	}
	if h.Conversion != accountant.Improved {
		return h, fmt.Errorf("conversion %v is not used by ledgers", h.Conversion)
	}
	if len(h.Orders) == 0 {
		return h, errors.New("the header has no orders")
	}
	c := h.config()
	c.Orders = h.orders()
	return h, c.validate()
}
