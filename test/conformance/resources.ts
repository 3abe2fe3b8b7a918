import { Buffer } from 'node:buffer'
import { defineResource, defineResourceTemplate } from 'caduceus'
import { redPixel } from './media.js'

const staticText = defineResource({
  uri: 'test://static-text',
  name: 'static-text',
  description: 'A text that never changes.',
  mimeType: 'text/plain',
  read: () => 'This is the content of the static text resource.',
})

const staticBinary = defineResource({
  uri: 'test://static-binary',
  name: 'static-binary',
  description: 'A picture that never changes.',
  mimeType: 'image/png',
  read: () => Buffer.from(redPixel, 'base64'),
})

const watched = defineResource({
  uri: 'test://watched-resource',
  name: 'watched-resource',
  description: 'A text that clients may subscribe to.',
  mimeType: 'text/plain',
  read: () => 'Watched resource content',
})

const template = defineResourceTemplate({
  uriTemplate: 'test://template/{id}/data',
  name: 'template',
  description: 'One resource for each id.',
  mimeType: 'application/json',
  read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
})

/** Resources with a uri of their own. */
export const resources = [staticText, staticBinary, watched]

/** Resources by pattern. */
export const resourceTemplates = [template]
