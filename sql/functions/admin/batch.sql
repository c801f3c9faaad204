create or replace function loom.batch(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
as $$
declare
  v_caller loom.caller := loom._enter('batch', p_request);
  v_atomic boolean := coalesce(loom._boolean(p_request, 'atomic'), false);
  v_items jsonb[] := loom._batch_items(p_request, v_caller);
  v_item jsonb;
  v_results jsonb[] := '{}';
  v_size bigint := 0;
begin
  perform loom._batch_locks(v_items, v_caller);
  foreach v_item in array v_items loop
    if v_atomic then
      v_results := v_results || jsonb_build_object('status', 200, 'result', loom._batch_item(v_item));
    else
      v_results := v_results || loom._batch_try(v_item);
    end if;
    v_size := v_size + pg_column_size(v_results[cardinality(v_results)]);
    if v_size > 8388608 then
      raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
        detail = jsonb_build_object('what', 'answer', 'limit', 8388608, 'value', v_size, 'unit', 'bytes')::text,
        hint = 'Split the batch, or read smaller pages.';
    end if;
  end loop;
  return jsonb_build_object('results', to_jsonb(v_results));
end
$$;
comment on function loom.batch(jsonb) is
'Runs 1 to 50 operations of one org in one statement and one commit, in order. Locks are taken first and in one order, so that batches never wait for each other in a circle.

Request: requests* [{op*, …its fields}], atomic (false: a refused item leaves the others; true: all or nothing, and the first error is the answer), org (that of the first item when left out).
Returns: results [{status 200, result} or {status, error {code, message, category, retryable, …its fields}}], in the order of the requests.
Errors: LM001, LM003, LM302; with atomic those of the first item that fails.';
