package explore

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// Printer computes fingerprints: numbers that are equal for equal values, whatever
// addresses and orders of maps the values have. The fingerprints of two Printers
// cannot be compared.
type Printer struct {
	ignored []string
	seed    maphash.Seed
	writers sync.Map // by reflect.Type
	spare   sync.Pool
}

// NewPrinter returns a Printer that leaves out the fields in ignored, each named
// "package.Type.field": values that a turn leaves behind and the next turn does not read.
func NewPrinter(ignored ...string) *Printer {
	return &Printer{ignored: ignored, seed: maphash.MakeSeed()}
}

// Fingerprint returns the fingerprint of the value that at points to, and of all values that are reachable from there.
func (p *Printer) Fingerprint(at any) uint64 {
	w, spare := p.spare.Get().(*printing)
	if !spare {
		w = &printing{Printer: p, met: map[pointed]uint64{}}
	}
	defer p.spare.Put(w)
	w.print(at)
	return maphash.Bytes(p.seed, w.out)
}

// Text returns what a fingerprint is computed from. Equal values have equal texts.
func (p *Printer) Text(at any) []byte {
	w := &printing{Printer: p, met: map[pointed]uint64{}}
	w.print(at)
	return w.out
}

func (w *printing) print(at any) {
	v := reflect.ValueOf(at)
	clear(w.met)
	w.out = w.out[:0]
	w.writer(v.Type().Elem())(w, v.UnsafePointer())
}

// printing is one computation. out is the text so far, and met numbers the objects that pointers point to.
type printing struct {
	*Printer
	met map[pointed]uint64
	out []byte
}

type writer func(w *printing, at unsafe.Pointer)

func (p *Printer) writer(t reflect.Type) writer {
	if known, ok := p.writers.Load(t); ok {
		return known.(writer)
	}
	made := p.newWriter(t)
	p.writers.Store(t, made)
	return made
}

func (w *printing) number(n uint64) { w.out = binary.AppendUvarint(w.out, n) }

func (w *printing) text(s string) {
	w.number(uint64(len(s)))
	w.out = append(w.out, s...)
}

func (p *Printer) newWriter(t reflect.Type) writer {
	if t == timeType {
		return func(w *printing, at unsafe.Pointer) {
			if when := (*time.Time)(at); when.IsZero() {
				w.number(0)
			} else {
				w.number(uint64(when.UnixNano()))
			}
		}
	}
	if isShared(t) {
		return func(*printing, unsafe.Pointer) {}
	}
	size := t.Size()
	switch t.Kind() {
	case reflect.String:
		return func(w *printing, at unsafe.Pointer) { w.text(*(*string)(at)) }
	case reflect.Pointer:
		return writePointer(t)
	case reflect.Slice:
		return writeSlice(t)
	case reflect.Map:
		return writeMap(t)
	case reflect.Interface:
		return writeInterface(t)
	case reflect.Struct:
		return p.structWriter(t)
	case reflect.Array:
		elem, step := p.writer(t.Elem()), t.Elem().Size()
		return func(w *printing, at unsafe.Pointer) {
			for i := range t.Len() {
				elem(w, unsafe.Add(at, uintptr(i)*step))
			}
		}
	case reflect.Func:
		return func(w *printing, at unsafe.Pointer) {
			w.number(uint64(btoi(*(*unsafe.Pointer)(at) != nil)))
		}
	case reflect.Chan, reflect.UnsafePointer:
		panic("explore: a " + t.String() + " has no fingerprint")
	}
	return func(w *printing, at unsafe.Pointer) { w.out = append(w.out, unsafe.Slice((*byte)(at), size)...) }
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *Printer) structWriter(t reflect.Type) writer {
	type part struct {
		offset uintptr
		write  writer
	}
	var parts []part
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type.Size() > 0 && !slices.Contains(p.ignored, t.String()+"."+f.Name) {
			parts = append(parts, part{f.Offset, p.writer(f.Type)})
		}
	}
	return func(w *printing, at unsafe.Pointer) {
		for _, part := range parts {
			part.write(w, unsafe.Add(at, part.offset))
		}
	}
}

func writePointer(t reflect.Type) writer {
	elem := t.Elem()
	var write writer
	var once sync.Once // a type may contain itself
	return func(w *printing, at unsafe.Pointer) {
		to := *(*unsafe.Pointer)(at)
		if to == nil {
			w.number(0)
			return
		}
		key := pointed{to, elem}
		n, met := w.met[key]
		if met {
			w.number(n)
			return
		}
		n = uint64(len(w.met)) + 1
		w.met[key] = n
		w.number(n)
		once.Do(func() { write = w.writer(elem) })
		write(w, to)
	}
}

func writeSlice(t reflect.Type) writer {
	elem, size := t.Elem(), t.Elem().Size()
	var write writer
	var once sync.Once
	return func(w *printing, at unsafe.Pointer) {
		// Every slice begins with its pointer and its length.
		of := (*[]struct{})(at)
		w.number(uint64(len(*of)))
		once.Do(func() { write = w.writer(elem) })
		for i, base := 0, unsafe.Pointer(unsafe.SliceData(*of)); i < len(*of); i++ {
			write(w, unsafe.Add(base, uintptr(i)*size))
		}
	}
}

// writeMap writes the entries in the order of the texts of their keys.
func writeMap(t reflect.Type) writer {
	return func(w *printing, at unsafe.Pointer) {
		if *(*unsafe.Pointer)(at) == nil {
			w.number(0)
			return
		}
		of := reflect.NewAt(t, at).Elem()
		w.number(uint64(of.Len()))
		if of.Len() == 0 {
			return
		}
		type entry struct {
			key   []byte
			value reflect.Value
		}
		entries := make([]entry, 0, of.Len())
		for each := of.MapRange(); each.Next(); {
			at := len(w.out)
			w.value(each.Key())
			entries = append(entries, entry{bytes.Clone(w.out[at:]), each.Value()})
			w.out = w.out[:at]
		}
		slices.SortFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
		for _, e := range entries {
			w.out = append(w.out, e.key...)
			w.value(e.value)
		}
	}
}

// value writes a value that may not be addressable.
func (w *printing) value(v reflect.Value) {
	addressable := reflect.New(v.Type())
	addressable.Elem().Set(v)
	w.writer(v.Type())(w, addressable.UnsafePointer())
}

// writeInterface writes an error as its text, because an error does not change after it was made.
func writeInterface(t reflect.Type) writer {
	return func(w *printing, at unsafe.Pointer) {
		of := reflect.NewAt(t, at).Elem()
		if of.IsNil() {
			w.number(0)
			return
		}
		w.text(of.Elem().Type().String())
		if err, ok := of.Interface().(error); ok {
			w.text(strings.ToValidUTF8(err.Error(), ""))
			return
		}
		w.value(of.Elem())
	}
}
