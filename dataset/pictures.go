package dataset

import (
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // images in folders may be GIF, JPEG or PNG
	_ "image/jpeg"
	_ "image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

const (
	maxPixels = 1 << 26 // of one image before it is resized
	maxSide   = 256     // of a resized image
	maxFiles  = 1 << 22
)

type folderFile struct {
	name  string // path below the folder, with slashes; unit of a private image, id of a public image
	class string // name of the file's folder, "" if the file is not in a folder of its own
}

type pictureRows struct {
	dir   string
	files []folderFile
	shape Shape
}

func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif"}, strings.ToLower(filepath.Ext(name)))
}

func listFiles(dir, what string, wanted func(name string) bool) ([]folderFile, error) {
	var files []folderFile
	top, err := os.ReadDir(dir)
	if err != nil {
		return nil, failed(dir, "cannot be read", err)
	}
	for _, e := range top {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			below, err := os.ReadDir(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, failed(dir, "has a folder that cannot be read", err)
			}
			for _, b := range below {
				if !b.IsDir() && wanted(b.Name()) && !strings.HasPrefix(b.Name(), ".") {
					files = append(files, folderFile{name: e.Name() + "/" + b.Name(), class: e.Name()})
				}
			}
		case wanted(e.Name()):
			files = append(files, folderFile{name: e.Name()})
		}
	}
	if len(files) == 0 {
		return nil, wrong(dir, "holds no "+what, "the files are in the folder, or in a folder for each class", "check that the right folder is given")
	}
	if len(files) > maxFiles {
		return nil, wrong(dir, fmt.Sprintf("holds more than %d %s", maxFiles, what), "", "")
	}
	slices.SortFunc(files, func(a, b folderFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

func shapeOfPictures(dir string, files []folderFile, size Shape) (Shape, error) {
	shape := size
	for i, f := range files {
		cfg, _, err := openPicture(filepath.Join(dir, filepath.FromSlash(f.name)), false)
		if err != nil {
			return Shape{}, err
		}
		if size.Rows == 0 && i == 0 {
			shape.Rows, shape.Cols = cfg.Height, cfg.Width
		}
		if size.Rows == 0 && (cfg.Height != shape.Rows || cfg.Width != shape.Cols) {
			return Shape{}, wrong(dir, fmt.Sprintf("has images of %dx%d pixels (%s) and of %dx%d (%s)",
				shape.Rows, shape.Cols, files[0].name, cfg.Height, cfg.Width, f.name),
				"all images of a task have one size", "say to which size to bring them, such as --image-size 32x32")
		}
		if cfg.ColorModel != color.GrayModel && cfg.ColorModel != color.Gray16Model {
			shape.Channels = 3
		}
	}
	if shape.Rows > maxSide || shape.Cols > maxSide {
		return Shape{}, wrong(dir, fmt.Sprintf("has images of %dx%d pixels, more than %d a side", shape.Rows, shape.Cols, maxSide),
			"features are made for small images", "bring them to a smaller size, such as --image-size 64x64")
	}
	return shape, nil
}

func openPicture(path string, pixels bool) (cfg image.Config, img image.Image, err error) {
	f, err := unpack.Open(path)
	if err != nil {
		return cfg, nil, failed(path, "cannot be opened", err)
	}
	defer f.Close()
	cfg, _, err = image.DecodeConfig(f)
	if err == nil && (cfg.Width < 1 || cfg.Height < 1 || cfg.Width > maxPixels/cfg.Height) {
		err = fmt.Errorf("it claims %d x %d pixels", cfg.Height, cfg.Width)
	}
	if err == nil && pixels {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			img, _, err = image.Decode(f)
		}
	}
	if err != nil {
		err = &fault.Error{File: path, What: "is not a readable image", Err: err, Fix: "remove it, or save it again as PNG"}
	}
	return cfg, img, err
}

func (r *pictureRows) size() (rows, cols int) { return len(r.files), r.shape.Pixels() }
func (r *pictureRows) image() Shape           { return r.shape }

func (r *pictureRows) each(visit func(i int, row []float64) error) error {
	row := make([]float64, r.shape.Pixels())
	for i, f := range r.files {
		_, img, err := openPicture(filepath.Join(r.dir, filepath.FromSlash(f.name)), true)
		if err != nil {
			return err
		}
		resample(row, img, r.shape)
		if err := visit(i, row); err != nil {
			return err
		}
	}
	return nil
}

func resample(dst []float64, img image.Image, shape Shape) {
	b := img.Bounds()
	plane := shape.Rows * shape.Cols
	for i := range shape.Rows {
		top, bottom := b.Min.Y+i*b.Dy()/shape.Rows, b.Min.Y+(i+1)*b.Dy()/shape.Rows
		for j := range shape.Cols {
			left, right := b.Min.X+j*b.Dx()/shape.Cols, b.Min.X+(j+1)*b.Dx()/shape.Cols
			var sum [3]float64
			n := 0.0
			for y := top; y < max(bottom, top+1); y++ {
				for x := left; x < max(right, left+1); x++ {
					red, green, blue, _ := img.At(x, y).RGBA()
					sum[0] += float64(red)
					sum[1] += float64(green)
					sum[2] += float64(blue)
					n++
				}
			}
			at := i*shape.Cols + j
			if shape.Planes() == 1 {
				dst[at] = (0.299*sum[0] + 0.587*sum[1] + 0.114*sum[2]) / (n * 0xffff)
				continue
			}
			for c := range 3 {
				dst[c*plane+at] = sum[c] / (n * 0xffff)
			}
		}
	}
}

func isPictureFolder(dir string) bool {
	idx, _ := filepath.Glob(filepath.Join(dir, "*-ubyte*"))
	if len(idx) > 0 {
		return false
	}
	found := false
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && isPicture(path) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
