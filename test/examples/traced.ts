import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { http, serveHttp, startServer, withClient } from 'caduceus'
import { instrument } from 'caduceus/otel'
import { calculator } from './first/calculator.js'

// as your program sets up OpenTelemetry, such as with NodeSDK of @opentelemetry/sdk-node
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
propagation.setGlobalPropagator(new W3CTraceContextPropagator()) // without one, a server's span has no parent
const exporter = new ConsoleSpanExporter()
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
instrument()

const server = await startServer(calculator, { transport: serveHttp({ port: 0 }) })
await withClient({ transport: http(server.url ?? '') }, (client) => client.callTool('divide', { a: 1, b: 2 }))
await server.stop()
