// Command protogen writes the Go code of a file of protocol buffers beside it. It needs
// nothing but Go: the compiler and the plugins are modules, pinned in go.mod.
//
//	go run -C ../../hack/protogen . "$PWD/attach.proto"
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// plugins are tools of go.mod.
var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: protogen FILE.proto")
	}
	if err := generate(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func generate(path string) error {
	dir, name := filepath.Split(path)
	request, err := compile(dir, name)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := run(plugin, request, dir); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// compile reads one file that imports nothing of its own folder.
func compile(dir, name string) ([]byte, error) {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the code
	}
	files, err := c.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	parameter := "paths=source_relative"
	return proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      &parameter,
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
}

func run(plugin string, request []byte, dir string) error {
	var out bytes.Buffer
	cmd := exec.Command("go", "tool", plugin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out.Bytes(), &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return fmt.Errorf("it says: %s", answer.GetError())
	}
	for _, f := range answer.File {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
