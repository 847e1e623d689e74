/** Server reflection: lists the services, and returns the files that describe them. */
import { create, createRegistry, type DescFile, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status as Code, type Server } from "@grpc/grpc-js";
import { HttpError } from "../connections/http-error.ts";
import { type DuplexCall, readMessage, refuseStream, registerDuplex } from "./calls.ts";
import type { GrpcContext } from "./context.ts";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "./pb/reflection-pb.ts";

const PATH = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

type Answer = ServerReflectionResponse["messageResponse"];

export class Reflection {
  readonly #files: readonly DescFile[];
  readonly #registry: Registry;
  readonly #open = new Set<DuplexCall>();

  /** @param files descriptors of the services. */
  constructor(files: readonly DescFile[]) {
    this.#files = files;
    this.#registry = createRegistry(...files);
  }

  register(server: Server, context: GrpcContext): void {
    registerDuplex(server, context, PATH, (call) => this.#serve(call));
  }

  /** Ends all its streams. */
  close(): void {
    for (const call of this.#open) {
      refuseStream(call, new HttpError(503, "the server is shutting down"));
    }
  }

  #serve(call: DuplexCall): void {
    this.#open.add(call);
    call.once("cancelled", () => this.#open.delete(call));
    call.on("data", (message: Uint8Array) => {
      let request: ServerReflectionRequest;
      try {
        request = readMessage(ServerReflectionRequestSchema, message);
      } catch (error) {
        refuseStream(call, error);
        return;
      }
      const response = create(ServerReflectionResponseSchema, {
        validHost: request.host,
        originalRequest: request,
        messageResponse: this.#answer(request),
      });
      const isTaken = call.write(toBinary(ServerReflectionResponseSchema, response));
      if (isTaken) return;
      call.pause();
      call.once("drain", () => call.resume());
    });
    call.on("end", () => void call.end());
  }

  #answer({ messageRequest: { case: kind, value } }: ServerReflectionRequest): Answer {
    switch (kind) {
      case "listServices":
        return { case: "listServicesResponse", value: this.#services() };
      case "fileByFilename":
        return this.#fileAnswer(
          this.#files.find(({ proto }) => proto.name === value),
          value,
        );
      case "fileContainingSymbol":
        return this.#fileAnswer(this.#fileOf(value), value);
      case "allExtensionNumbersOfType":
        if (this.#registry.getMessage(value) === undefined) return unknown(value);
        return {
          case: "allExtensionNumbersResponse",
          value: {
            $typeName: "grpc.reflection.v1.ExtensionNumberResponse",
            baseTypeName: value,
            extensionNumber: [],
          },
        };
      case "fileContainingExtension":
        return unknown(`an extension of ${value.containingType}`);
      case undefined:
        return refusal(Code.INVALID_ARGUMENT, "message_request: expected one, got nothing");
    }
  }

  #services() {
    const names = this.#files.flatMap(({ services }) => services.map(({ typeName }) => typeName));
    return {
      $typeName: "grpc.reflection.v1.ListServiceResponse" as const,
      service: names.map((name) => ({
        $typeName: "grpc.reflection.v1.ServiceResponse" as const,
        name,
      })),
    };
  }

  /** Finds the file of a service, message, enum, extension, method or field by name. */
  #fileOf(symbol: string): DescFile | undefined {
    const known = this.#registry.get(symbol);
    if (known !== undefined) return known.file;
    return this.#registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf("."))))?.file;
  }

  #fileAnswer(file: DescFile | undefined, asked: string): Answer {
    if (file === undefined) return unknown(asked);
    const all = withDependencies(file).map(({ proto }) =>
      toBinary(FileDescriptorProtoSchema, proto),
    );
    return {
      case: "fileDescriptorResponse",
      value: { $typeName: "grpc.reflection.v1.FileDescriptorResponse", fileDescriptorProto: all },
    };
  }
}

function withDependencies(file: DescFile): DescFile[] {
  return [file, ...file.dependencies.flatMap(withDependencies)];
}

function unknown(asked: string): Answer {
  return refusal(Code.NOT_FOUND, `this server does not have ${asked.slice(0, 200)}`);
}

function refusal(errorCode: number, errorMessage: string): Answer {
  return {
    case: "errorResponse",
    value: { $typeName: "grpc.reflection.v1.ErrorResponse", errorCode, errorMessage },
  };
}
