create or replace function loom._batch_items(p_request jsonb, p_caller loom.caller) returns jsonb[]
language plpgsql immutable
as $$
declare
  v_requests jsonb := p_request -> 'requests';
  v_caller jsonb := '{}';
  v_items jsonb[] := '{}';
  v_item jsonb;
  v_place integer := 0;
begin
  if p_request ? '_caller' then
    v_caller := jsonb_build_object('_caller', p_request -> '_caller');
  end if;
  if jsonb_typeof(v_requests) is distinct from 'array' or jsonb_array_length(v_requests) not between 1 and 50 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'requests', 'reason', 'must be a list of 1 to 50 requests')::text,
      hint = 'Split a longer batch.';
  end if;
  for v_item in select value from jsonb_array_elements(v_requests) loop
    if jsonb_typeof(v_item) <> 'object' or jsonb_typeof(v_item -> 'op') is distinct from 'string' then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', format('requests[%s]', v_place),
          'reason', 'must be an object with an op')::text,
        hint = 'Each request of a batch is the operation''s own request with its op.';
    end if;
    if v_item -> 'org' = 'null' then
      v_item := v_item - 'org';
    end if;
    if loom._string(v_item, 'org') <> p_caller.org then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', format('requests[%s].org', v_place),
          'reason', 'is another org than the batch''s')::text,
        hint = 'A batch is for one org.';
    end if;
    if v_item ? '_caller' then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', '_caller', 'reason', 'is not a field of this operation')::text,
        hint = 'Remove the field or correct its name.';
    end if;
    v_items := v_items || (jsonb_build_object('org', p_caller.org) || v_item || v_caller);
    v_place := v_place + 1;
  end loop;
  return v_items;
end
$$;
comment on function loom._batch_items(jsonb, loom.caller) is
  'The items of a batch, each with the batch''s org and, behind the API, its caller. LM001 when the list or an item has no shape to speak of.';
