export { field } from './protocol/schema/fields/fields.js'
export { type App, type AppContext, type AppTypes, createApp } from './server/definitions/app.js'
export {
  defineMethod,
  type MethodDefinition,
  type MethodOptions,
} from './server/definitions/define-method.js'
export {
  definePrompt,
  type PromptDefinition,
  type PromptOptions,
} from './server/definitions/define-prompt.js'
export {
  defineResource,
  defineResourceTemplate,
  type ResourceDefinition,
  type ResourceOptions,
  type ResourceTemplateDefinition,
  type ResourceTemplateOptions,
} from './server/definitions/define-resource.js'
export { defineServer, type ServerDefinition } from './server/definitions/define-server.js'
export {
  defineTool,
  type StructuredToolOptions,
  type ToolDefinition,
  type ToolOptions,
  type TypesFor,
} from './server/definitions/define-tool.js'
export type { ToolContext } from './server/context/context.js'
export { AskError, ServerError, ToolError } from './server/base/errors.js'
export {
  durableObject,
  type DurableObjectOptions,
  type ObjectStorage,
} from './server/engine/durable-object.js'
export { inMemory } from './server/engine/in-memory.js'
export { type RecordsOptions, records } from './server/engine/records.js'
export { sealed } from './server/engine/sealed.js'
export type { SealedOptions } from './server/engine/sealed-ids.js'
export { json, text } from './server/results/results.js'
export { promptResult, resourceResult, toolResult } from './server/results/builders.js'
export { type FetchHandler, type FetchServeOptions, serveFetch } from './server/serve-fetch.js'
export { introspection, type IntrospectionOptions } from './transports/auth/introspection.js'
export { jwt, type JwtOptions } from './transports/auth/jwt.js'
export type { AuthOptions } from './transports/auth/options.js'
export type { TokenUse, TokenVerifier } from './transports/auth/tokens.js'
export { TransportError } from './transports/base/errors.js'
export type { Principal } from './transports/contract/principal.js'
