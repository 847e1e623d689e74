"""Asks an external scaler as KEDA does, by grpcio and the proto file, and prints what was said.

Arguments: the folder of externalscaler_pb2.py, HOST:PORT, and the metadata of a trigger as JSON.
A line of standard input is waited for between the first answer of StreamIsActive and the next.
"""

import json
import sys

import grpc

folder, address, metadata = sys.argv[1:]
sys.path.insert(0, folder)
import externalscaler_pb2 as pb  # noqa: E402
from google.protobuf.json_format import MessageToDict  # noqa: E402

PATH = "/externalscaler.ExternalScaler/"
ref = pb.ScaledObjectRef(name="workers", namespace="vision", scalerMetadata=json.loads(metadata))
channel = grpc.insecure_channel(address)


def say(method, request, answer):
    line = {"method": method, "request": told(request), "answer": answer}
    print(json.dumps(line), flush=True)


def told(message):
    try:
        return MessageToDict(message, always_print_fields_with_no_presence=True)
    except TypeError:
        # Debian's protobuf has another name for it.
        return MessageToDict(message, including_default_value_fields=True)


def unary(method, request, response):
    call = channel.unary_unary(
        PATH + method,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response.FromString,
    )
    try:
        answer = told(call(request, timeout=10))
    except grpc.RpcError as error:
        answer = {"code": error.code().name, "details": error.details()}
    say(method, request, answer)


def stream(method, response):
    call = channel.unary_stream(
        PATH + method,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=response.FromString,
    )
    return call(ref, timeout=60)


active = stream("StreamIsActive", pb.IsActiveResponse)
say("StreamIsActive", ref, told(next(active)))
sys.stdin.readline()
say("StreamIsActive", ref, told(next(active)))
active.cancel()
specs = stream("StreamMetricSpec", pb.GetMetricSpecResponse)
say("StreamMetricSpec", ref, told(next(specs)))
specs.cancel()
unary("IsActive", ref, pb.IsActiveResponse)
unary("GetMetricSpec", ref, pb.GetMetricSpecResponse)
name = "stratagem-" + json.loads(metadata)["pool"]
request = pb.GetMetricsRequest(scaledObjectRef=ref, metricName=name)
unary("GetMetrics", request, pb.GetMetricsResponse)
wrong = pb.ScaledObjectRef(name="workers", namespace="vision", scalerMetadata={"pool": "none"})
unary("IsActive", wrong, pb.IsActiveResponse)
