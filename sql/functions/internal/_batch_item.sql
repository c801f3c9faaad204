create or replace function loom._batch_item(p_item jsonb) returns jsonb
language plpgsql volatile
as $$
begin
  perform from loom.operation where op = p_item ->> 'op' and not batchable;
  if found then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'op', 'reason', 'cannot stand in a batch')::text,
      hint = 'Call the operation by itself.';
  end if;
  return loom._run(p_item ->> 'op', p_item - 'op', null);
end
$$;
comment on function loom._batch_item(jsonb) is 'Runs one item of a batch. LM001 for an operation that cannot stand in one.';
