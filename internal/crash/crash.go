// Package crash lets a test stop a program at a named place.
package crash

import "context"

type hookKey struct{}

// With returns a context in which hook is called at every [Point], for tests: an error or a panic of hook
// ends the work as if the process had been killed there.
func With(ctx context.Context, hook func(place string) error) context.Context {
	return context.WithValue(ctx, hookKey{}, hook)
}

// Point calls the hook of ctx, if it has one.
func Point(ctx context.Context, place string) error {
	if hook, ok := ctx.Value(hookKey{}).(func(string) error); ok {
		return hook(place)
	}
	return nil
}
