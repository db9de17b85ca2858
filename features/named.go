package features

import (
	"fmt"

	"github.com/pate-go/pate/dataset"
)

// Names of the extractors that [Named] makes.
const (
	NamePixels = "raw" // pixels, or the encoded columns of a table
	NameHOG    = "hog" // histograms of oriented gradients, standardised per image
	// NameDeskewed and NameDeskewedHOG straighten each image by its own moments
	// first: right for handwriting, wrong for what has a natural slant, such as shoes.
	NameDeskewed    = "deskewed"
	NameDeskewedHOG = "deskewed-hog"
)

// Names lists the names that [Named] knows.
func Names() []string { return []string{NameDeskewedHOG, NameHOG, NameDeskewed, NamePixels} }

// Named returns the extractor of this name for rows of this shape. All named
// extractors are functions of one row alone, so they cost no privacy. It returns an
// error where the name asks for images and shape is zero.
func Named(name string, shape dataset.Shape) (Extractor, error) {
	switch {
	case name == NamePixels:
		return Raw{}, nil
	case shape == dataset.Shape{}:
		return nil, fmt.Errorf("features %q are for images, and these rows are not images; use %q", name, NamePixels)
	case name == NameDeskewed:
		return Standardize{Of: inColour(Deskew{}, shape)}, nil
	case name == NameDeskewedHOG:
		return Standardize{Of: inColour(Deskew{Of: StandardHOG()}, shape)}, nil
	default:
		return Standardize{Of: inColour(StandardHOG(), shape)}, nil
	}
}

// inColour returns an extractor for images of this shape, grey or in colour.
func inColour(e Extractor, shape dataset.Shape) Extractor {
	if shape.Planes() == 1 {
		return e
	}
	return colour{Of: e}
}
