import type {
  Annotations,
  CallToolParams,
  CallToolResult,
  ClientCapabilities,
  CompleteParams,
  ContentBlock,
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitUrlParams,
  GetPromptResult,
  Icon,
  Implementation,
  InitializeParams,
  InitializeResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListRootsResult,
  ListToolsResult,
  Meta,
  Method,
  NotificationMethod,
  NotificationParams,
  Params,
  ProgressParams,
  ReadResourceResult,
  Resource,
  Result,
  ServerCapabilities,
} from 'caduceus/protocol'

// Messages of the newest revision with every field that it has; `x` is one that nobody knows.

const _meta: Meta = { 'example.com/a': 1 }
const icons: Icon[] = [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48'] }]
const annotations: Annotations = { audience: ['user'], priority: 0.5, lastModified: '2025-01-12T15:00:58Z' }
const title = 'A title'
const description = 'A description'

const implementation: Implementation = {
  name: 'n',
  title,
  version: '1',
  description,
  websiteUrl: 'https://example.com',
  icons,
}
const resource: Resource = {
  uri: 'file:///a.txt',
  name: 'a',
  title,
  description,
  mimeType: 'text/plain',
  size: 3,
  icons,
  annotations,
  _meta,
}

/** One block of every kind that tools and prompts answer with. */
export const content: readonly ContentBlock[] = [
  { type: 'text', text: 'hello', annotations, _meta },
  { type: 'image', data: 'AAAA', mimeType: 'image/png', annotations, _meta },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav', annotations, _meta },
  { ...resource, type: 'resource_link' },
  {
    type: 'resource',
    resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'abc', _meta },
    annotations,
    _meta,
  },
]

const clientCapabilities: ClientCapabilities & Meta = {
  experimental: { a: {} },
  roots: { listChanged: true },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: { list: {} },
  x: {},
}
const serverCapabilities: ServerCapabilities & Meta = {
  experimental: { a: {} },
  logging: {},
  completions: {},
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  tools: { listChanged: true },
  tasks: { list: {} },
  x: {},
}
const initializeParams: InitializeParams = {
  protocolVersion: '2025-11-25',
  capabilities: clientCapabilities,
  clientInfo: implementation,
}
const initializeResult: InitializeResult = {
  protocolVersion: '2025-11-25',
  capabilities: serverCapabilities,
  serverInfo: implementation,
  instructions: 'be kind',
  _meta,
}
const listTools: ListToolsResult = {
  tools: [
    {
      name: 'add',
      title,
      description,
      inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
      annotations: { title, readOnlyHint: true },
      execution: { taskSupport: 'optional' },
      icons,
      _meta,
    },
    { name: 'plain', inputSchema: { type: 'object' } },
  ],
  nextCursor: '',
  _meta,
}
const callTool: CallToolParams = { name: 'add', arguments: { a: 1 }, task: { ttl: 1 }, _meta }
const callToolResult: CallToolResult = {
  content: [...content],
  structuredContent: { sum: 1 },
  isError: false,
  _meta,
}
const listResources: ListResourcesResult = { resources: [resource], nextCursor: 'b', _meta }
const listTemplates: ListResourceTemplatesResult = {
  resourceTemplates: [
    {
      uriTemplate: 'file:///{name}',
      name: 'files',
      title,
      description,
      mimeType: 'text/plain',
      icons,
      annotations,
      _meta,
    },
  ],
  nextCursor: 'b',
  _meta,
}
const readResource: ReadResourceResult = {
  contents: [
    { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'abc', _meta },
    { uri: 'file:///a.bin', mimeType: 'application/octet-stream', blob: 'AAAA', _meta },
  ],
  _meta,
}
const listPrompts: ListPromptsResult = {
  prompts: [
    {
      name: 'greet',
      title,
      description,
      arguments: [{ name: 'who', title, description, required: true }],
      icons,
      _meta,
    },
  ],
  nextCursor: 'b',
  _meta,
}
const getPrompt: GetPromptResult = {
  description,
  messages: content.map((content) => ({ role: 'user', content })),
  _meta,
}
const complete: CompleteParams = {
  ref: { type: 'ref/prompt', name: 'greet', title },
  argument: { name: 'who', value: 'a' },
  context: { arguments: { from: 'b' } },
  _meta,
}
const createMessage: CreateMessageParams = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'what is this?', annotations, _meta },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      ],
      _meta,
    },
    { role: 'assistant', content: { type: 'text', text: 'a picture' } },
  ],
  maxTokens: 10,
  modelPreferences: { hints: [{ name: 'm' }], costPriority: 1 },
  systemPrompt: 's',
  includeContext: 'none',
  temperature: 0.5,
  stopSequences: ['.'],
  metadata: { a: 1 },
  tools: [],
  toolChoice: { mode: 'auto' },
  task: { ttl: 1 },
  _meta,
}
const createMessageResult: CreateMessageResult = {
  role: 'assistant',
  content: [{ type: 'text', text: 'a picture', _meta }],
  model: 'm',
  stopReason: 'endTurn',
  _meta,
}
const listRoots: ListRootsResult = { roots: [{ uri: 'file:///a', name: 'a', _meta }], _meta }
const progress: ProgressParams = { progressToken: 0, progress: 1, total: 2, message: 'half', _meta }

/** A form with one field of every kind that 2025-06-18 can ask for. */
export const elicitForm: ElicitFormParams = {
  mode: 'form',
  message: 'who are you?',
  requestedSchema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      mail: {
        type: 'string',
        title,
        description,
        format: 'email',
        minLength: 1,
        maxLength: 9,
        default: 'a@b',
      },
      age: { type: 'integer', title, description, minimum: 0, maximum: 150, default: 30 },
      agree: { type: 'boolean', title, description, default: true },
      plain: { type: 'string', enum: ['r', 'g'], default: 'r' },
      named: {
        type: 'string',
        title,
        description,
        enum: ['r', 'g'],
        enumNames: ['Red', 'Green'],
        default: 'r',
      },
      titled: {
        type: 'string',
        title,
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'g', title: 'Green' },
        ],
        default: 'r',
      },
    },
    required: ['mail'],
  },
  task: { ttl: 1 },
  _meta,
}

/** A question by url. */
export const elicitUrl: ElicitUrlParams = {
  mode: 'url',
  message: 'please sign in',
  url: 'https://example.com/sign-in',
  elicitationId: 'e1',
  task: { ttl: 1 },
  _meta,
}

/** One message for every row that is not the same in every revision, and for some that are. */
export const samples = {
  results: {
    initialize: initializeResult,
    'tools/list': listTools,
    'tools/call': callToolResult,
    'resources/list': listResources,
    'resources/templates/list': listTemplates,
    'resources/read': readResource,
    'prompts/list': listPrompts,
    'prompts/get': getPrompt,
    'completion/complete': { completion: { values: ['b'], total: 2, hasMore: true }, _meta },
    'sampling/createMessage': createMessageResult,
    'roots/list': listRoots,
  },
  params: {
    initialize: initializeParams,
    'tools/call': callTool,
    'resources/read': { uri: 'file:///a.txt', _meta },
    'completion/complete': complete,
    'sampling/createMessage': createMessage,
    'elicitation/create': elicitForm,
  },
  notifications: {
    'notifications/progress': progress,
    'notifications/message': { level: 'info', logger: 'l', data: { a: 1 }, _meta },
  },
} satisfies Samples

/** Messages by what they are and how they are called. */
export interface Samples {
  readonly results: { readonly [M in Method]?: Result<M> }
  readonly params: { readonly [M in Method]?: Params<M> }
  readonly notifications: { readonly [N in NotificationMethod]?: NotificationParams<N> }
}
