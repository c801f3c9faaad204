create or replace function loom._batch_try(p_item jsonb) returns jsonb
language plpgsql volatile
as $$
declare
  v_state text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  return jsonb_build_object('status', 200, 'result', loom._batch_item(p_item));
-- The whole LM class and nothing else: a fault of the server still ends the batch.
exception when sqlstate 'LM000' then
  get stacked diagnostics v_state = returned_sqlstate, v_message = message_text, v_detail = pg_exception_detail,
    v_hint = pg_exception_hint;
  return loom._error_json(v_state, v_message, v_detail, v_hint);
end
$$;
comment on function loom._batch_try(jsonb) is
  'Runs one item of a batch in a savepoint: its result, or the error that refused it.';
