/** Names of tools that are there and are never called. */
export function moreNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `more${index}`)
}

/** What such a tool takes. */
export const moreInput = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'What to look for' },
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'How many rows' },
    order: { type: 'string', enum: ['asc', 'desc'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['query', 'limit', 'order'],
} as const
