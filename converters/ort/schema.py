"""The part of the schema of .ort files that describes a model; what plans a session there is left out."""

from __future__ import annotations

from functools import cache

from edgekit.core import flatbuffer

# Enumerations are numbers here. A union is two fields, its kind and its value.
_SCHEMA = """
table Session { ort_version: string; model: Model; }
table Model {
  ir_version: long; opset_import: [Opset]; producer_name: string; producer_version: string; domain: string;
  model_version: long; doc_string: string; graph: Graph;
}
table Opset { domain: string; version: long; }
table Graph {
  initializers: [Tensor]; node_args: [ValueInfo]; nodes: [Node]; max_node_index: uint; node_edges: [Unread];
  inputs: [string]; outputs: [string]; sparse_initializers: [SparseTensor];
}
table Unread { }
table Tensor {
  name: string; doc_string: string; dims: [long]; data_type: int; raw_data: [ubyte]; string_data: [string];
  external_data_offset: long = -1;
}
table SparseTensor { values: Tensor; indices: Tensor; dims: [long]; }
table ValueInfo { name: string; doc_string: string; type: TypeInfo; }
table TypeInfo { denotation: string; kind: ubyte; tensor: TensorType; }
table TensorType { elem_type: int; shape: Shape; }
table Shape { dim: [Dimension]; }
table Dimension { value: DimensionValue; }
table DimensionValue { kind: byte; size: long; name: string; }
table Node {
  name: string; doc_string: string; domain: string; since_version: int; index: uint; op_type: string;
  type: int; provider: string; inputs: [string]; outputs: [string]; attributes: [Attribute];
  input_arg_counts: [int]; implicit_inputs: [string];
}
table Attribute {
  name: string; doc_string: string; type: int; f: float; i: long; s: string; t: Tensor; g: Graph;
  floats: [float]; ints: [long]; strings: [string]; tensors: [Tensor]; graphs: [Graph];
}
root_type Session;
file_identifier "ORTM";
"""


@cache
def schema() -> flatbuffer.Schema:
    return flatbuffer.parse(_SCHEMA)
