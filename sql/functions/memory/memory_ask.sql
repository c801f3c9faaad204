create or replace function loom.memory_ask(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('memory.ask', p_request);
  v_query text := loom._search_text_asked(p_request);
  v_ok bigint;
begin
  v_ok := loom._integer(p_request, 'limit', 1, 100);
  raise exception using errcode = 'LM501', message = 'No model can be asked.',
    detail = jsonb_build_object('reason', 'no_model')::text,
    hint = 'The API answers this where it has a model; the database calls none. memory.search finds the facts.';
end
$$;
comment on function loom.memory_ask(jsonb) is
'An answer in words from the facts in reach, and which facts it is from. The API makes it, from memory.search and its model; a service that calls by SQL is refused, since the database calls no model.

Request: query* (2000 characters at most), read_scope (own_user, own_session, namespace), limit (1 to 100).
Returns: answer, memory_ids.
Errors: LM001, LM003, LM302, LM406, LM501.';
