package shell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Values says what a flag or an argument takes: shells complete it, and where the words
// are all there is, another one is refused with the nearest.
type Values struct {
	words  []string
	closed bool     // nothing but words
	list   bool     // several, with commas
	files  bool     // also files with these endings, any without
	exts   []string // without the dot
	folder bool
}

// Words is one of the words and nothing else.
func Words(words ...string) Values { return Values{words: words, closed: true} }

// WordList is several of the words, with commas, and nothing else.
func WordList(words ...string) Values { return Values{words: words, closed: true, list: true} }

// Suggested is one of the words, or anything else.
func Suggested(words ...string) Values { return Values{words: words} }

// Files is a file with one of the endings, such as "csv"; any file without.
func Files(endings ...string) Values { return Values{files: true, exts: endings} }

// Folder is a folder.
func Folder() Values { return Values{folder: true} }

// Anything is a text that nothing can complete.
func Anything() Values { return Values{} }

// OrFiles adds files to the words.
func (v Values) OrFiles(endings ...string) Values {
	v.files, v.exts, v.closed = true, endings, false
	return v
}

// complete lists what may follow.
func (v Values) complete(typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); v.list && i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	for _, word := range v.words {
		if strings.HasPrefix(word, last) {
			found = append(found, before+word)
		}
	}
	switch {
	case found == nil && v.folder:
		return nil, cobra.ShellCompDirectiveFilterDirs
	case v.files && (found == nil || typed != "") && v.exts != nil && len(v.words) == 0:
		return slices.Clone(v.exts), cobra.ShellCompDirectiveFilterFileExt
	case v.files:
		return found, cobra.ShellCompDirectiveDefault
	case v.list:
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// check refuses what is no word of a closed set.
func (v Values) check(value string) error {
	words := []string{value}
	if v.list {
		words = strings.Split(value, ",")
	}
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(v.words, word) {
			return fmt.Errorf("%q: must be %s%s", word, v.oneOf(), didYouMean(word, v.words))
		}
	}
	return nil
}

// oneOf writes "a", "a or b", or "one of a, b, c".
func (v Values) oneOf() string {
	if len(v.words) <= 2 {
		return strings.Join(v.words, " or ")
	}
	if all := "one of " + strings.Join(v.words, ", "); len(all) < 2*Columns {
		return all
	}
	return "one of those that the help lists"
}

// What a flag was told to take stands in annotations of the flag.
const (
	valueKinds   = "pate_values" // some of those below, none for anything
	valueWords   = "pate_words"
	valueEndings = "pate_endings"

	kindClosed = "closed"
	kindList   = "list"
	kindFiles  = "files"
	kindFolder = "folder"
)

// Complete says what flags of a command take. A flag that is not there is a mistake in
// this program, and ignored: a test finds flags that nothing was said of.
func Complete(cmd *cobra.Command, flags map[string]Values) {
	for name, v := range flags {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			if flag = cmd.PersistentFlags().Lookup(name); flag == nil {
				continue
			}
		}
		v.annotate(flag)
	}
}

func (v Values) annotate(flag *pflag.Flag) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	kinds := []string{}
	for kind, is := range map[string]bool{kindClosed: v.closed, kindList: v.list, kindFiles: v.files, kindFolder: v.folder} {
		if is {
			kinds = append(kinds, kind)
		}
	}
	flag.Annotations[valueKinds], flag.Annotations[valueWords], flag.Annotations[valueEndings] = kinds, v.words, v.exts
}

// told returns what Complete was told of a flag.
func told(flag *pflag.Flag) (Values, bool) {
	kinds, ok := flag.Annotations[valueKinds]
	is := func(kind string) bool { return slices.Contains(kinds, kind) }
	return Values{words: flag.Annotations[valueWords], closed: is(kindClosed), list: is(kindList), files: is(kindFiles), exts: flag.Annotations[valueEndings], folder: is(kindFolder)}, ok
}

// CompleteArgs says what the arguments of a command are.
func CompleteArgs(cmd *cobra.Command, v Values) {
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return v.complete(typed)
	}
}

// CheckValues refuses values that are in no closed set.
func CheckValues(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		v, _ := told(flag)
		if !v.closed || wrong != nil {
			return
		}
		given := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			given = several.GetSlice()
		}
		for _, value := range given {
			if err := v.check(value); err != nil {
				wrong = &CommandError{Code: ExitUsage, What: fmt.Errorf("--%s %w", flag.Name, err), Fix: cmd.CommandPath() + " --help"}
				return
			}
		}
	})
	return wrong
}

// Declared reports whether it is known what a flag takes: numbers, yes and no, and what
// Complete was told.
func Declared(flag *pflag.Flag) bool {
	if _, ok := flag.Value.(*choice); ok {
		return true
	}
	_, ok := told(flag)
	return ok || wanted(flag) != ""
}

// CompleteAll lets shells complete the flags of cmd and of the commands below it: what
// [Complete] was told, choices, and numbers, of which there is nothing to complete; and
// arguments where there are none. Cobra keeps what it is told here until the process ends,
// with all of the command, so it is told when a shell asks.
func CompleteAll(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if v, ok := told(f); ok {
			complete = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return v.complete(typed)
			}
		} else if c, ok := f.Value.(*choice); ok {
			complete = cobra.FixedCompletions(c.allowed, cobra.ShellCompDirectiveNoFileComp)
		} else if wanted(f) == "" || f.Value.Type() == "bool" {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // the one error is a flag that has one, as inherited flags do
	})
	if cmd.Runnable() && cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil && !cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range cmd.Commands() {
		CompleteAll(child)
	}
}

// wanted says what a flag takes by its type alone; "" of texts.
func wanted(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "true or false"
	case "float64", "float32", "float":
		return "a number"
	case "int", "int64", "int32":
		return "a whole number"
	case "uint", "uint64", "uint32":
		return "a whole number that is not negative"
	case "intSlice", "int64Slice":
		return "whole numbers, separated by commas"
	case "float64Slice", "float32Slice":
		return "numbers, separated by commas"
	case "duration":
		return "a time such as 10s"
	}
	return ""
}
