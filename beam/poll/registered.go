package poll

import (
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// init registers the functions of a pipeline, because Beam workers find functions by registered names.
func init() {
	// Beam calls the functions registered below without reflection, which is faster for functions that run
	// for every vote. Package register would do this for all functions, but compiling takes about 20 seconds
	// for each.
	beam.RegisterType(reflect.TypeFor[Vote]())
	beam.RegisterType(reflect.TypeFor[piece]())
	beam.RegisterCoder(reflect.TypeFor[tally](), encodeTally, decodeTally)

	for _, fn := range []reflect.Type{
		reflect.TypeFor[keyFn](), reflect.TypeFor[emptyFn](), reflect.TypeFor[lineFn](), reflect.TypeFor[castFn](), reflect.TypeFor[numberFn](),
		reflect.TypeFor[syntheticFn](), reflect.TypeFor[textFn](), reflect.TypeFor[shardsFn](), reflect.TypeFor[writeFn](),
	} {
		beam.RegisterDoFn(fn)
	}
	beam.RegisterFunction(reportFn)
	beam.RegisterFunction(checkFn)
	beam.RegisterType(reflect.TypeFor[countFn]())
	beam.RegisterType(reflect.TypeFor[mergeFn]())

	register.Emitter1[Vote]()
	register.Emitter1[int64]()
	register.Emitter2[int64, piece]()
	register.Iter1[piece]()

	reflectx.RegisterStructWrapper(reflect.TypeFor[keyFn](), func(fn any) map[string]reflectx.Func {
		f := fn.(*keyFn)
		return map[string]reflectx.Func{"ProcessElement": &func1x2[Vote, int64, Vote]{f.ProcessElement}}
	})
	reflectx.RegisterStructWrapper(reflect.TypeFor[countFn](), func(fn any) map[string]reflectx.Func {
		f := fn.(*countFn)
		return map[string]reflectx.Func{
			"CreateAccumulator": reflectx.MakeFunc(f.CreateAccumulator),
			"AddInput":          &func2x1[tally, Vote, tally]{f.AddInput},
			"MergeAccumulators": &func2x1[tally, tally, tally]{f.MergeAccumulators},
		}
	})
	reflectx.RegisterStructWrapper(reflect.TypeFor[lineFn](), func(fn any) map[string]reflectx.Func {
		f := fn.(*lineFn)
		return map[string]reflectx.Func{
			"Setup":          reflectx.MakeFunc(f.Setup),
			"ProcessElement": &func2x1[string, func(Vote), error]{f.ProcessElement},
		}
	})
}

type func1x2[A, R, S any] struct{ fn func(A) (R, S) }

func (f *func1x2[A, R, S]) Name() string       { return reflectx.FunctionName(f.fn) }
func (f *func1x2[A, R, S]) Type() reflect.Type { return reflect.TypeOf(f.fn) }

func (f *func1x2[A, R, S]) Call(args []any) []any {
	r, s := f.Call1x2(args[0])
	return []any{r, s}
}

func (f *func1x2[A, R, S]) Call1x2(a any) (any, any) { return f.fn(a.(A)) }

type func2x1[A, B, R any] struct{ fn func(A, B) R }

func (f *func2x1[A, B, R]) Name() string          { return reflectx.FunctionName(f.fn) }
func (f *func2x1[A, B, R]) Type() reflect.Type    { return reflect.TypeOf(f.fn) }
func (f *func2x1[A, B, R]) Call(args []any) []any { return []any{f.Call2x1(args[0], args[1])} }
func (f *func2x1[A, B, R]) Call2x1(a, b any) any  { return f.fn(a.(A), b.(B)) }
