export { fromOpenApi, type OpenApiComponents } from './server/openapi/from-openapi.js'
export type { Omitted } from './server/openapi/operations.js'
export type { Credential, OpenApiOptions, OperationFacts, OperationKind } from './server/openapi/options.js'
