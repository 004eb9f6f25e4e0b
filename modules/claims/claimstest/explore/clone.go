package explore

import (
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// Clone returns a copy of a value. The copy shares no changeable part with the value: it
// copies the contents of pointers, slices, maps and interfaces, also of unexported fields.
// Two pointers to the same object point to the same copy. Errors, functions, strings and [Shared]
// values are not copied. It panics for a channel.
func Clone[T any](of T) T {
	var copied T
	t := reflect.TypeFor[T]()
	c := copierOf(t)
	copied = of
	if c != nil {
		c(unsafe.Pointer(&copied), &cloning{made: map[pointed]unsafe.Pointer{}})
	}
	return copied
}

// Shared is implemented by pointers to values that never change, for example
// settings. A clone shares these values, and a fingerprint leaves them out.
type Shared interface{ SharedByClones() }

// cloning is one call of Clone. made has the copy of each value that a pointer points to.
type cloning struct{ made map[pointed]unsafe.Pointer }

type pointed struct {
	at unsafe.Pointer
	of reflect.Type
}

// A copier replaces, in a bitwise copy, everything that the copy shares with its original.
type copier func(at unsafe.Pointer, c *cloning)

var (
	copiers   sync.Map // by reflect.Type
	errorType = reflect.TypeFor[error]()
	timeType  = reflect.TypeFor[time.Time]()
	shareType = reflect.TypeFor[Shared]()
)

// isShared reports whether values of the type are Shared. Only a pointer can be Shared: a
// struct may have the method only because it embeds a field that has it.
func isShared(t reflect.Type) bool { return t.Kind() == reflect.Pointer && t.Implements(shareType) }

// copierOf returns the copier of a type. It is nil if a bitwise copy shares nothing with its original.
func copierOf(t reflect.Type) copier {
	if known, ok := copiers.Load(t); ok {
		return known.(copier)
	}
	var made copier
	if pointless(t) {
		copiers.Store(t, made)
		return made
	}
	// A type may contain itself behind a pointer, a slice or a map: their copiers look up the
	// inner copier at their first use.
	made = newCopier(t)
	copiers.Store(t, made)
	return made
}

// pointless reports whether values of the type share nothing that can change.
func pointless(t reflect.Type) bool {
	if t == timeType || t.Implements(errorType) && t.Kind() != reflect.Struct || isShared(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return pointless(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !pointless(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

func newCopier(t reflect.Type) copier {
	switch t.Kind() {
	case reflect.Pointer:
		return copyPointer(t)
	case reflect.Slice:
		return copySlice(t)
	case reflect.Map:
		return copyMap(t)
	case reflect.Interface:
		return copyInterface(t)
	case reflect.Array:
		size, elem := t.Elem().Size(), copierOf(t.Elem())
		return func(at unsafe.Pointer, c *cloning) {
			for i := range t.Len() {
				elem(unsafe.Add(at, uintptr(i)*size), c)
			}
		}
	case reflect.Struct:
		return copyStruct(t)
	}
	panic("explore: a " + t.String() + " cannot be copied")
}

func copyStruct(t reflect.Type) copier {
	type part struct {
		offset uintptr
		copy   copier
	}
	var parts []part
	for i := range t.NumField() {
		if f := t.Field(i); !pointless(f.Type) {
			parts = append(parts, part{f.Offset, copierOf(f.Type)})
		}
	}
	return func(at unsafe.Pointer, c *cloning) {
		for _, p := range parts {
			p.copy(unsafe.Add(at, p.offset), c)
		}
	}
}

func copyPointer(t reflect.Type) copier {
	elem := t.Elem()
	var inner copier
	var once sync.Once
	return func(at unsafe.Pointer, c *cloning) {
		from := *(*unsafe.Pointer)(at)
		if from == nil {
			return
		}
		key := pointed{from, elem}
		to, done := c.made[key]
		if !done {
			made := reflect.New(elem)
			to = made.UnsafePointer()
			c.made[key] = to
			made.Elem().Set(reflect.NewAt(elem, from).Elem())
			once.Do(func() { inner = copierOf(elem) })
			if inner != nil {
				inner(to, c)
			}
		}
		*(*unsafe.Pointer)(at) = to
	}
}

func copySlice(t reflect.Type) copier {
	elem, size := t.Elem(), t.Elem().Size()
	var inner copier
	var once sync.Once
	return func(at unsafe.Pointer, c *cloning) {
		of := reflect.NewAt(t, at).Elem()
		if of.IsNil() {
			return
		}
		n := of.Len()
		made := reflect.MakeSlice(t, n, n)
		reflect.Copy(made, of)
		of.Set(made)
		once.Do(func() { inner = copierOf(elem) })
		if inner == nil {
			return
		}
		for i, base := 0, made.UnsafePointer(); i < n; i++ {
			inner(unsafe.Add(base, uintptr(i)*size), c)
		}
	}
}

// copyMap copies the values of a map and keeps its keys as they are. It panics for keys that share changeable parts.
func copyMap(t reflect.Type) copier {
	if !pointless(t.Key()) {
		panic("explore: keys of a " + t.String() + " cannot be copied")
	}
	var inner copier
	var once sync.Once
	return func(at unsafe.Pointer, c *cloning) {
		of := reflect.NewAt(t, at).Elem()
		if of.IsNil() {
			return
		}
		once.Do(func() { inner = copierOf(t.Elem()) })
		made := reflect.MakeMapWithSize(t, of.Len())
		for entries := of.MapRange(); entries.Next(); {
			value := reflect.New(t.Elem())
			value.Elem().Set(entries.Value())
			if inner != nil {
				inner(value.UnsafePointer(), c)
			}
			made.SetMapIndex(entries.Key(), value.Elem())
		}
		of.Set(made)
	}
}

func copyInterface(t reflect.Type) copier {
	return func(at unsafe.Pointer, c *cloning) {
		of := reflect.NewAt(t, at).Elem()
		if of.IsNil() {
			return
		}
		holds := of.Elem()
		inner := copierOf(holds.Type())
		if inner == nil {
			return
		}
		made := reflect.New(holds.Type())
		made.Elem().Set(holds)
		inner(made.UnsafePointer(), c)
		of.Set(made.Elem())
	}
}
