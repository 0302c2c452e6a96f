/**
 * A client of the API under test. Every answer is held against the OpenAPI document that the server itself hands out: the
 * route, the status, the code and the body must be documented. So each test of a route is also a test of its description.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { Client, type Dispatcher } from 'undici';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  /** Parsed when the content type is JSON. */
  readonly json: unknown;
}

export interface Call {
  readonly body?: unknown;
  /** Sent as it is; `body` is sent as JSON. */
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

interface Operation {
  readonly responses: Readonly<Record<string, ResponseDescription>>;
}
interface ResponseDescription {
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}
export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH' | 'HEAD';

export class Caller {
  readonly client: Client;
  readonly #document: OpenApi;
  readonly #ajv: Ajv2020;

  private constructor(client: Client, document: OpenApi) {
    this.client = client;
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, validateFormats: false });
    this.#ajv.addSchema({ $id: 'openapi', ...document });
  }

  /** @param known the document, for a client that may not read it. */
  static async connect(
    test: { teardown(release: () => unknown): void },
    path: string,
    known?: OpenApi,
  ): Promise<Caller> {
    const client = new Client('http://sfsd', { socketPath: path });
    test.teardown(() => client.destroy());
    if (known !== undefined) return new Caller(client, known);
    const { body } = await client.request({ method: 'GET', path: '/openapi.json' });
    return new Caller(client, (await body.json()) as OpenApi);
  }

  get document(): OpenApi {
    return this.#document;
  }

  async call(method: Method, path: string, call: Call = {}): Promise<Answer> {
    const answer = await this.undocumented(method, path, call);
    this.#checkDocumented(method, path, answer);
    return answer;
  }

  /** For what no document can describe: unknown routes and broken paths. */
  async undocumented(method: Method, path: string, call: Call = {}): Promise<Answer> {
    const isJson = call.body !== undefined;
    const options: Dispatcher.RequestOptions = {
      method,
      path,
      headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...call.headers },
      body: isJson ? JSON.stringify(call.body) : (call.raw ?? null),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    };
    const response = await this.client.request(options);
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const type = String(response.headers['content-type'] ?? '');
    const json: unknown =
      type.includes('json') && bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined;
    return { status: response.statusCode, headers: response.headers, bytes, json };
  }

  #checkDocumented(method: Method, path: string, answer: Answer): void {
    const at = `${method} ${path} -> ${answer.status}`;
    const route = this.#routeOf(path.split('?')[0] ?? path);
    const response = this.#document.paths[route]?.[method.toLowerCase()]?.responses[answer.status];
    if (response === undefined) throw new Error(`${at} is not documented: ${answer.bytes.toString()}`);
    if (answer.bytes.length === 0 || response.content === undefined) return;
    const type = String(answer.headers['content-type']).split(';')[0] ?? '';
    const media = response.content[type];
    if (media === undefined) throw new Error(`${at}: content type ${type} is not documented`);
    if (answer.json === undefined || media.schema === undefined) return;
    const validate = this.#validator(route, method.toLowerCase(), answer.status, type);
    if (!validate(answer.json)) {
      throw new Error(`${at}: ${this.#ajv.errorsText(validate.errors)} in ${answer.bytes.toString()}`);
    }
  }

  #routeOf(path: string): string {
    const segments = path.split('/');
    const matches = (route: string) => {
      const parts = route.split('/');
      return (
        parts.length === segments.length &&
        parts.every((part, index) => part.startsWith('{') || part === segments[index])
      );
    };
    return Object.keys(this.#document.paths).find(matches) ?? path;
  }

  #validator(route: string, method: string, status: number, type: string): ValidateFunction {
    const pointer = ['paths', route, method, 'responses', String(status), 'content', type, 'schema'];
    const reference = pointer.map((part) =>
      encodeURIComponent(part.replace(/~/g, '~0').replace(/\//g, '~1')),
    );
    const $ref = `openapi#/${reference.join('/')}`;
    return this.#ajv.getSchema($ref) ?? this.#ajv.compile({ $ref });
  }
}
