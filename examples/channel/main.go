// Command channel labels queries that arrive on a channel. For each query, it counts the votes of the
// teachers and releases a label or declines.
//
//	go run ./examples/channel
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
)

const (
	teachers = 250
	classes  = 4
)

type query struct {
	id    uint64
	votes []int
}

func main() {
	key, err := rng.NewKey()
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(context.Background(), os.Stdout, arriving(40), key); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, out io.Writer, queries <-chan query, key rng.Key) error {
	mechanism, err := aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{Threshold: 150, Sigma1: 40, Sigma2: 20, Queries: 40, Answers: 25})
	if err != nil {
		return err
	}
	budget, err := ledger.New(ledger.Config{ // add a path to keep the ledger on disk
		Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5,
	})
	if err != nil {
		return err
	}
	defer budget.Close()
	charge, err := budget.Reserve(mechanism.Event()) // before any vote is used
	if err != nil {
		return err
	}
	session, err := mechanism.Start(charge, key)
	if err != nil {
		return err
	}
	answered, declined := 0, 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case q, more := <-queries:
			if more {
				histogram, err := aggregate.CountVotes(q.votes, classes)
				if err != nil {
					return err
				}
				answer, err := session.Ask(q.id, histogram)
				switch {
				case errors.Is(err, aggregate.ErrExhausted):
					// The charge is used up. This query and all later queries are not answered.
				case err != nil:
					return err
				case answer.Answered:
					answered++
					fmt.Fprintf(out, "query %d: class %d\n", q.id, answer.Label)
					continue
				default:
					declined++
					continue
				}
			}
			epsilon, err := budget.Epsilon()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "answered %d, declined %d; epsilon %.2f; may be released: %v\n",
				answered, declined, epsilon, session.Releasable())
			return err
		}
	}
}

func arriving(n int) <-chan query {
	queries := make(chan query, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for id := range uint64(n) {
		q := query{id: id, votes: make([]int, teachers)}
		for t := range q.votes {
			q.votes[t] = int(id) % classes
			if id%4 == 3 || rnd.IntN(10) == 0 {
				q.votes[t] = rnd.IntN(classes)
			}
		}
		queries <- q
	}
	close(queries)
	return queries
}
