package page

import (
	"fmt"
	"math"
	"strconv"
)

// drawTeachers draws a column of dots for each class, one for each vote. The vote that moves is
// an empty dot in its column and a full one where it goes. The page lets dots be dragged: it
// reads data-class of a dot and data-drop of a column.
func drawTeachers(counts []int, from, to int) Panel {
	c := newCanvas(plotHeight)
	left, right, top, bottom := 8.0, panelWidth-8.0, 26.0, plotHeight-30.0
	step := (right - left) / float64(len(counts))
	most := 0
	for _, n := range counts {
		most = max(most, n+1)
	}
	pitch := dotPitch(most, step*0.86, bottom-top)
	perRow := max(1, int(step*0.86/pitch))
	for class, n := range counts {
		x0 := left + step*float64(class)
		c.rect("column", x0+2, top-4, step-4, bottom-top+8, "data-drop", strconv.Itoa(class))
		dots := n
		if class == to {
			dots++
		}
		width := float64(min(perRow, dots)) * pitch
		for i := range dots {
			x := x0 + step/2 - width/2 + pitch*(float64(i%perRow)+0.5)
			y := bottom - pitch*(float64(i/perRow)+0.5)
			kind := "dot"
			switch {
			case class == to && i == n:
				kind = "dot arrived"
			case class == from && i == n-1:
				kind = "dot left"
			}
			c.circle(kind, x, y, pitch*0.42, "data-class", strconv.Itoa(class))
		}
		c.text("tick", "middle", x0+step/2, bottom+20, fmt.Sprint("class ", class)[6*min(1, len(counts)/6):])
		words := strconv.Itoa(n)
		switch class {
		case from:
			words += " − 1"
		case to:
			words += " + 1"
		}
		c.text("value", "middle", x0+step/2, top-10, words)
	}
	alt := fmt.Sprintf("votes %s; one vote moves from class %d to class %d.", list(counts), from, to)
	return c.panel("teachers", "Teachers and their votes", alt, nil)
}

// dotPitch returns the largest distance of dots at which so many fit a column.
func dotPitch(dots int, width, height float64) float64 {
	for pitch := 16.0; pitch > 2; pitch -= 0.5 {
		if rows := math.Ceil(float64(dots) / max(1, math.Floor(width/pitch))); rows*pitch <= height {
			return pitch
		}
	}
	return 2
}
