import { definePrompt } from 'caduceus'
import { redPixel } from './media.js'

const simple = definePrompt({
  name: 'test_simple_prompt',
  description: 'A prompt without arguments.',
  get: () => 'This is a simple prompt for testing.',
})

const withArguments = definePrompt({
  name: 'test_prompt_with_arguments',
  description: 'A prompt with two arguments.',
  arguments: [
    { name: 'arg1', description: 'First test argument', required: true },
    { name: 'arg2', description: 'Second test argument', required: true },
  ],
  get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  complete: { arg1: (typed) => ['paris', 'park', 'party'].filter((word) => word.startsWith(typed)) },
})

const withResource = definePrompt({
  name: 'test_prompt_with_embedded_resource',
  description: 'A prompt with a resource in it.',
  arguments: [{ name: 'resourceUri', description: 'URI of the resource to embed', required: true }],
  get: ({ resourceUri }) => [
    {
      role: 'user',
      content: {
        type: 'resource',
        resource: {
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
      },
    },
    { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
  ],
})

const withImage = definePrompt({
  name: 'test_prompt_with_image',
  description: 'A prompt with a picture in it.',
  get: () => [
    { role: 'user', content: { type: 'image', data: redPixel, mimeType: 'image/png' } },
    { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
  ],
})

/** Every prompt of the fixture. */
export const prompts = [simple, withArguments, withResource, withImage]
