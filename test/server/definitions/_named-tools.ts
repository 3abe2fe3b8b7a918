import { defineTool } from 'caduceus/server'

/** Named by its export. */
export const addNumbers = defineTool({ description: 'Add two numbers', run: () => String(1 + 2) })

/** Named by itself. */
export const other = defineTool({ name: 'own-name', run: () => '' })
