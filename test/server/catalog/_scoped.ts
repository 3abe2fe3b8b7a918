import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type ServerDefinitionOptions,
} from 'caduceus/server'

/** Components of every kind, some of which take a scope. */
export const parts: Partial<ServerDefinitionOptions> = {
  tools: [
    defineTool({ name: 'open', run: () => 'open' }),
    defineTool({ name: 'write', scopes: ['files:write'], run: () => 'written' }),
    defineTool({ name: 'both', scopes: ['files:write', 'files:read'], run: () => 'both' }),
  ],
  resources: [
    defineResource({ uri: 'x://open', name: 'open', read: () => 'open' }),
    defineResource({ uri: 'x://kept', name: 'kept', scopes: ['files:read'], read: () => 'kept' }),
  ],
  resourceTemplates: [
    defineResourceTemplate({
      uriTemplate: 'kept://{name}',
      name: 'family',
      scopes: ['files:read'],
      read: ({ name }) => name,
      complete: { name: () => ['canary'] },
    }),
  ],
  prompts: [
    definePrompt({
      name: 'secret',
      scopes: ['files:read'],
      arguments: [{ name: 'a' }],
      complete: { a: () => ['canary'] },
      get: () => 'secret',
    }),
  ],
}
