//go:build !race

package stability

const raceDetector = false
