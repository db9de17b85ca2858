// Package crash lets a test stop a program at a named place.
package crash

import "context"

type hookKey struct{}

// With returns a context in which [Point] calls hook. In a test, an error or panic of hook simulates a killed
// process.
func With(ctx context.Context, hook func(place string) error) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// Point calls the hook that [With] stored in ctx, if any.
func Point(ctx context.Context, place string) error {
	if hook, ok := ctx.Value(hookKey{}).(func(string) error); ok {
		return hook(place)
	}
	return nil
}
